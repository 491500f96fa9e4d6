"""`officetown.toml` and the variables: a model for each role, strictly read, and no key where it does not belong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import settings as s
from orchestrator.configfile import ROLES, Table, TimeoutTable
from orchestrator.settings import ModelSettings, Settings, read_settings
from services.models.endpoint import Prices
from simulator.errors import OfficeTownError, UsageError
from tests.orchestrator.support import ROOT, Desk

WHOLE = """
[default]
url = "https://big.example/v1"
model = "large"
key_env = "BIG_KEY"
effort = "medium"
max_output = 6000
prices = { input = 2.50, output = 10, cached = "0.25" }
concurrency = 16
rate = 120

[assistant]
model = "small"

[client]
model = "offline"

[judge]
url = "http://localhost:8000/v1"
model = "local"
wire = "responses"
tools = "schema"
max_tokens_field = "max_completion_tokens"
schema_mode = "prompt"
stream = true
echo_reasoning = true
timeouts = { connect = 5, idle = 120.5 }
"""


def read(tmp_path: Path, text: str, **environ: str) -> Settings:
    """The settings that a file in the home and some variables give."""
    (tmp_path / "officetown.toml").write_text(text)
    return read_settings({"OFFICETOWN_HOME": str(tmp_path), **environ})


def test_each_role_has_what_its_table_says_over_the_default(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE, BIG_KEY="sesame")
    assert found.source == tmp_path / "officetown.toml"
    assert found.of("principal") == found.model
    assert found.model == ModelSettings(
        "https://big.example/v1", "large", "sesame", effort="medium", prices=Prices(2_500_000, 10_000_000, 250_000),
        key_env="BIG_KEY", concurrency=16, rate=120.0, max_output=6000,
    )  # fmt: skip
    assistant = found.of("assistant")
    assert (assistant.name, assistant.key, assistant.effort, assistant.rate) == ("small", "sesame", "medium", 120.0)
    assert assistant.endpoint().max_output == 6000 and found.of("judge").max_output == 0
    assert found.of("client").offline and not found.of("generator").offline
    judge = found.of("judge").endpoint()
    assert (judge.wire, judge.tools, judge.max_tokens_field, judge.schema_mode, judge.stream, judge.echo_reasoning) == (
        "responses", "schema", "max_completion_tokens", "prompt", True, True,
    )  # fmt: skip
    assert (judge.connect_timeout_s, judge.idle_timeout_s, judge.timeout_s) == (5.0, 120.5, 600.0)


def test_a_limit_of_answers_is_taken_from_the_nearest_that_says_one(tmp_path: Path) -> None:
    given = read(
        tmp_path, WHOLE, BIG_KEY="k", OFFICETOWN_MODEL_MAX_OUTPUT=" 5000 ", OFFICETOWN_ASSISTANT_MODEL_MAX_OUTPUT="700"
    )
    assert [given.of(role).endpoint().max_output for role in ("principal", "assistant", "judge")] == [5000, 700, 0]
    alone = read_settings({
        "OFFICETOWN_HOME": str(tmp_path / "empty"), "OFFICETOWN_MODEL_URL": "http://x/v1", "OFFICETOWN_MODEL": "m",
        "OFFICETOWN_GENERATOR_MODEL_MAX_OUTPUT": "9",
    })  # fmt: skip
    assert (alone.model.max_output, alone.of("generator").endpoint().max_output) == (0, 9)


@pytest.mark.parametrize("text", ["0", "-1", "4k", "1e3", "4096.0", "10000001", "9" * 5000, "\u0663", "4_096"])
def test_a_limit_that_is_none_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="OFFICETOWN_CLIENT_MODEL_MAX_OUTPUT.*number of tokens"):
        read_settings({"OFFICETOWN_HOME": "/nowhere", "OFFICETOWN_CLIENT_MODEL_MAX_OUTPUT": text})


def test_another_address_never_gets_the_key_of_the_default(tmp_path: Path) -> None:
    found = read(
        tmp_path, WHOLE, BIG_KEY="sesame", OFFICETOWN_CLIENT_MODEL_URL="http://other/v1", OFFICETOWN_CLIENT_MODEL="o"
    )
    assert found.of("judge").key == "" and found.of("judge").prices is None and found.of("judge").effort == ""
    assert found.of("client") == ModelSettings("http://other/v1", "o")
    moved = read(tmp_path, WHOLE, BIG_KEY="sesame", OFFICETOWN_MODEL_URL="http://else/v1", OFFICETOWN_MODEL="e")
    assert moved.model == ModelSettings("http://else/v1", "e")
    assert moved.of("assistant").url == "http://else/v1" and moved.of("assistant").key == ""


def test_another_model_does_not_have_the_prices_of_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE, BIG_KEY="k").of("assistant").prices is None


def test_variables_stand_over_the_file_and_a_roles_over_those_for_all(tmp_path: Path) -> None:
    found = read(
        tmp_path, WHOLE, BIG_KEY="file", OFFICETOWN_MODEL_EFFORT="low", OFFICETOWN_MODEL_KEY="given",
        OFFICETOWN_PRINCIPAL_MODEL_EFFORT="high", OFFICETOWN_CLIENT_MODEL_WIRE="responses",
    )  # fmt: skip
    assert (found.model.effort, found.model.key) == ("low", "given")
    assert found.of("principal").effort == "high"
    assert found.of("client").offline, "what says how is asked, not who"


def test_offline_by_a_variable_is_offline_whatever_the_file_says(tmp_path: Path) -> None:
    found = read(tmp_path, '[default]\nurl = "http://x/v1"\nmodel = "m"\n', OFFICETOWN_MODEL="offline")
    assert found.model == ModelSettings() and found.of("principal").offline
    with pytest.raises(UsageError, match="role assistant.*'small'"):
        read(tmp_path, WHOLE, OFFICETOWN_MODEL="offline")


def test_a_model_called_offline_at_an_address_is_asked_there(tmp_path: Path) -> None:
    found = read(tmp_path, '[default]\nurl = "http://x/v1"\nmodel = "offline"\n')
    assert not found.model.offline


def test_the_file_is_the_named_one_else_the_one_here_else_the_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "named.toml", tmp_path / "here" / "officetown.toml", tmp_path / "home" / "officetown.toml"]
    for number, path in enumerate(places):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'[default]\nurl = "http://x/v1"\nmodel = "m{number}"\n')
    monkeypatch.chdir(tmp_path / "here")
    environ = {"OFFICETOWN_HOME": str(tmp_path / "home")}
    assert read_settings({**environ, "OFFICETOWN_CONFIG": str(places[0])}).model.name == "m0"
    assert read_settings(environ).model.name == "m1"
    places[1].unlink()
    assert read_settings(environ).model.name == "m2"
    places[2].unlink()
    assert read_settings(environ).model.offline
    with pytest.raises(UsageError, match=r"OFFICETOWN_CONFIG names .*gone\.toml"):
        read_settings({**environ, "OFFICETOWN_CONFIG": str(tmp_path / "gone.toml")})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[defualt]\nmodel = "m"', r"\[defualt\].*Did you mean default\?"),
        ('[teacher]\nmodel = "m"', r"\[teacher\] is no table.*\[principal\]"),
        ('model = "m"', "the key model is in no table"),
        ('[client]\nmodle = "m"', r"table \[client\]: modle is unknown\. Did you mean model\?"),
        ("[client]\nmodel = 4", r"table \[client\], key model: Expected `str`"),
        ('[client]\nwire = "pigeon"', r"table \[client\], key wire: .*pigeon"),
        ("[client]\nconcurrency = 0", "key concurrency"),
        ("[client]\nmax_output = 0", "key max_output"),
        ("[client]\nmax_output = 10000001", "key max_output"),
        ("[client]\nmax_output = 1e3", "key max_output"),
        ("[client]\nrate = 0", r"key rate: 0 is not more than 0"),
        ("[client]\nrate = nan", "key rate"),
        ("[client]\nprices = { input = 1 }", r"key prices: .*output"),
        ("[client]\nprices = { input = -1, output = 1 }", r"key prices\.input: -1"),
        ("[client]\nprices = { input = inf, output = 1 }", r"key prices\.input"),
        ("[client]\nprices = { input = 1, output = 1, pizza = 1 }", r"key prices: .*pizza"),
        ("[client]\ntimeouts = { total = 0 }", r"key timeouts\.total"),
        ('[client]\nurl = "localhost"\nmodel = "m"', r"table \[client\], key url must begin with http"),
        ('[client]\nurl = "http://[::1/v1"\nmodel = "m"', r"key url is no address"),
        ('[client]\nurl = "http://:99999/v1"\nmodel = "m"', r"key url is no address"),
        ('[client]\nurl = "http://x/v1"', r"role client.*model"),
        ('[client]\nmodel = "m"', r"role client.*url"),
        ("[client\n", "is not TOML.*line 1"),
        ("[client]\nstream = 1", "key stream"),
    ],
)
def test_what_does_not_fit_is_told_with_file_table_and_key(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named) as told:
        read(tmp_path, text)
    assert str(tmp_path / "officetown.toml") in str(told.value) or "officetown.toml" in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    [
        'key = "sk-hidden-1"', 'api_key = "sk-hidden-1"', 'key_env = "sk-hidden-1"', 'key_env = "gsk_hidden_1"',
        'url = "https://me:sk-hidden-1@x/v1"\nmodel = "m"', 'url = "https://x/v1?key=sk-hidden-1"\nmodel = "m"',
    ],
)  # fmt: skip
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as told:
        read(tmp_path, f"[default]\n{text}\n")
    assert "hidden" not in str(told.value)
    assert "variable" in str(told.value)


def test_a_missing_key_variable_is_named_when_the_model_is_used_and_not_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "officetown.toml").write_text(WHOLE)
    desk = Desk(tmp_path, capsys)
    assert desk("offices").code == 0
    said = desk("run", "fixtures/juniper")
    assert said.code == 2 and "BIG_KEY is not set" in said.err
    assert desk.json("offices") == {"offices": []}


def test_nothing_that_is_printed_shows_a_key(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE, BIG_KEY="sesame")
    assert "sesame" not in repr(found) + repr(found.roles) + str(found.model.endpoint())


@given(st.text(max_size=60))
def test_whatever_is_in_the_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        found = read_settings({"OFFICETOWN_HOME": "/nowhere", "OFFICETOWN_CONFIG": str(path)})
    except OfficeTownError:
        return
    assert found.source == path


# -- the page ---------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "configuration.md").read_text()


def test_the_example_on_the_page_is_a_configuration(tmp_path: Path) -> None:
    example = PAGE.split("```toml\n")[1].split("```")[0]
    found = read(tmp_path, example, EXAMPLE_API_KEY="k")
    assert set(tomllib.loads(example)) == {"default", "assistant", "client", "judge"}
    assert found.of("client").offline and found.of("assistant").prices == Prices(400_000, 1_600_000)
    assert found.of("judge").timeout_s == 900.0


def test_the_page_lists_every_key_and_role() -> None:
    rows = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `") and line[3].islower()}
    assert rows == set(Table.__struct_fields__)
    for word in (*ROLES, *TimeoutTable.__struct_fields__, "cached"):
        assert f"`{word}`" in PAGE
    assert str(ModelSettings().concurrency) in PAGE and s.CONFIG in PAGE
