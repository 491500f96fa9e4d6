"""What runs inside the stack: the orchestrator's standing by, the init job, and Baïkal's start script."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import yaml

from orchestrator.carriersettings import CalendarSettings, ChatSettings, MailSettings
from orchestrator.settings import read_settings
from orchestrator.stack import provision, readiness
from orchestrator.stack.provision import Waiting
from services.carriers.caldav import baikal
from simulator.carrying import Account, Directory
from simulator.errors import InfrastructureError, UsageError
from tests.stack.playing import ROOT

# -- standing by ------------------------------------------------------------------------------------------------------


def test_what_can_be_reached_is_no_fault(tmp_path: Path) -> None:
    assert readiness.unready({"OFFICETOWN_HOME": str(tmp_path), "DATABASE_URL": "sqlite:///x"}) == ()


def test_a_database_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://officetown:canary@127.0.0.1:{taken.getsockname()[1]}/x"
        (fault,) = readiness.unready({"DATABASE_URL": url})
    assert fault.startswith("The database at 127.0.0.1 does not answer") and "canary" not in fault


@pytest.mark.postgres
def test_a_database_that_answers_is_no_fault(postgres_url: str) -> None:
    assert readiness.unready({"DATABASE_URL": postgres_url}) == ()


@contextmanager
def saying(path: Path, answer: bytes) -> Iterator[None]:
    """Somebody at a Unix socket who says one thing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.recv(4096)
                client.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(60)


def test_the_engine_s_proxy_is_asked_for_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a Unix socket has to be short
    with saying(Path("a"), b"HTTP/1.1 200 OK\r\n\r\nOK"):
        assert readiness.unready({"DOCKER_HOST": "unix://a"}) == ()
    with saying(Path("b"), b"HTTP/1.1 502 Bad Gateway\r\n\r\n"):
        assert "has no engine" in readiness.unready({"DOCKER_HOST": "unix://b"})[0]
    assert "does not answer: No such file" in readiness.unready({"DOCKER_HOST": "unix://nowhere"})[0]


def test_a_dashboard_that_does_not_answer_is_told(tmp_path: Path) -> None:
    class Asks(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Asks)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    port = server.server_address[1]
    assert readiness.unready({}, port) == (), "it asks for the key, so it answers"
    server.shutdown()
    server.server_close()
    assert f"at port {port}" in readiness.unready({}, port)[0]


def test_its_check_ends_badly_where_something_is_away(tmp_path: Path) -> None:
    environ = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.stack.readiness"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "does not answer" in done.stderr


# -- the init job -----------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes by waiting alone."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited = 0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waited += 1

    def waiting(self) -> Waiting:
        return Waiting(lambda: self.now, self.sleep, 30.0)


def client(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(answer))


CHAT = ChatSettings("http://rocketchat:3000", "office", "canary")
CALENDAR = CalendarSettings("http://baikal", "/dav.php/calendars/{user}/{calendar}/", False)


def test_all_of_it_is_done_and_done_again(tmp_path: Path) -> None:
    settings = read_settings({"OFFICETOWN_HOME": str(tmp_path / "home"), "OFFICETOWN_CHAT_URL": CHAT.url, "OFFICETOWN_CHAT_USER": "office",
                              "OFFICETOWN_CHAT_PASSWORD": "canary", "OFFICETOWN_CALENDAR_URL": CALENDAR.url,
                              "OFFICETOWN_CALENDAR_PATH": CALENDAR.path})  # fmt: skip
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url}")
        return httpx.Response(401) if request.method == "PROPFIND" else httpx.Response(200, json={"status": "success"})

    for _ in range(2):
        said: list[str] = []
        provision.provision(settings, {}, client(answer), Clock().waiting(), said.append)
        assert [line.partition(":")[0] for line in said] == ["Database", "Engine proxy and home", "Chat", "Calendar"]
        assert "0 offices" in said[0] and "canary" not in "".join(said)
    assert asked[:2] == ["POST http://rocketchat:3000/api/v1/login", "PROPFIND http://baikal/dav.php/"]


@pytest.mark.parametrize(
    "first", [httpx.Response(502), httpx.Response(429), httpx.ConnectError("refused"), httpx.ReadTimeout("slow")]
)
def test_a_server_that_is_not_well_yet_is_waited_for(tmp_path: Path, first: httpx.Response | Exception) -> None:
    settings = read_settings({"OFFICETOWN_HOME": str(tmp_path / "home"), "OFFICETOWN_CHAT_URL": CHAT.url, "OFFICETOWN_CHAT_USER": "o",
                              "OFFICETOWN_CHAT_PASSWORD": "p"})  # fmt: skip
    answers: list[httpx.Response | Exception] = [first, first, httpx.Response(200, json={})]

    def answer(request: httpx.Request) -> httpx.Response:
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    clock = Clock()
    provision.provision(settings, {}, client(answer), clock.waiting(), lambda text: None)
    assert clock.waited == 2 and answers == []


def test_one_that_never_is_ends_the_job_with_its_name(tmp_path: Path) -> None:
    settings = read_settings({"OFFICETOWN_HOME": str(tmp_path / "home"), "OFFICETOWN_CALENDAR_URL": "http://baikal"})
    with pytest.raises(InfrastructureError, match=r"http://baikal/? is not well \(HTTP 503\)"):
        provision.provision(settings, {}, client(lambda r: httpx.Response(503)), Clock().waiting(), lambda text: None)


def test_a_refused_password_is_not_tried_again() -> None:
    with pytest.raises(UsageError, match="does not let office in .* another password than that in .env") as fault:
        provision.chat(CHAT, client(lambda request: httpx.Response(401, json={"status": "error"})))
    assert "canary" not in str(fault.value)


def test_a_calendar_server_elsewhere_is_told() -> None:
    with pytest.raises(UsageError, match="refuses"):
        provision.calendar(CALENDAR, client(lambda request: httpx.Response(404)))
    with pytest.raises(UsageError, match="its path is another one"):
        provision.calendar(CALENDAR, client(lambda request: httpx.Response(200)))


class _Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # noqa: N802  # the library looks for this name
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library names it so
        pass


def test_mail_is_ready_when_both_of_its_doors_open() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Ready) as web, socket.socket() as smtp:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        smtp.bind(("127.0.0.1", 0))
        smtp.listen()
        port = smtp.getsockname()[1]

        def greet(words: bytes) -> None:
            asking, _ = smtp.accept()
            with asking:
                asking.sendall(words)

        server = MailSettings("127.0.0.1", port, f"http://127.0.0.1:{web.server_port}")
        with httpx.Client(trust_env=False) as http:
            for words, fault in ((b"220 ready\r\n", ""), (b"SSH-2.0\r\n", "No mail server answers")):
                thread = threading.Thread(target=greet, args=(words,))
                thread.start()
                if fault:
                    with pytest.raises(InfrastructureError, match=fault):
                        provision.mail(server, http)
                else:
                    assert f"127.0.0.1:{port}" in provision.mail(server, http)
                thread.join(60)
            smtp.close()
            with pytest.raises(InfrastructureError, match="No mail is taken"):
                provision.mail(server, http)
        web.shutdown()


# -- Baïkal's start script --------------------------------------------------------------------------------------------

# As much of Baïkal as its start needs. The tables are those of its schema that an account touches.
SCHEMA = """
CREATE TABLE users (id integer primary key asc NOT NULL, username TEXT NOT NULL, digesta1 TEXT NOT NULL, UNIQUE(username));
CREATE TABLE principals (id INTEGER PRIMARY KEY ASC NOT NULL, uri TEXT NOT NULL, email TEXT, displayname TEXT, UNIQUE(uri));
CREATE TABLE calendars (id integer primary key asc NOT NULL, synctoken integer DEFAULT 1 NOT NULL, components text NOT NULL);
CREATE TABLE calendarinstances (id integer primary key asc NOT NULL, calendarid integer NOT NULL, principaluri text NULL,
  access integer NOT NULL DEFAULT '1', displayname text, uri text NOT NULL, timezone text, transparent bool,
  share_invitestatus integer DEFAULT '2');
"""
PEOPLE = Directory("o1", "Juniper", "Europe/Berlin", (Account("leah", "Leah", "leah", "leah@juniper.example"),))


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the script over an installed Baïkal, as root of its container would."""
    root = tmp_path / "baikal"
    (root / "Core/Resources/Db/SQLite").mkdir(parents=True)
    (root / "Core/Resources/Db/SQLite/db.sql").write_text(SCHEMA)
    (root / "Core/Distrib.php").write_text(
        '<?php\n\ndefine("BAIKAL_VERSION", "0.10.1");\ndefine("BAIKAL_HOMEPAGE", "https://x");\n'
    )
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in = (
        f"#!{sys.executable}\nimport sqlite3, sys\nsqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())\n"
    )
    (programs / "sqlite3").write_text(stand_in)
    (programs / "sqlite3").chmod(0o755)

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": f"{programs}:{os.environ['PATH']}", "BAIKAL_ROOT": str(root), "BAIKAL_OWNER": f"{os.getuid()}:{os.getgid()}",
                   "BAIKAL_ADMIN_PASSWORD": "admin pass", "BAIKAL_ENCRYPTION_KEY": "0123abcd", **more}  # fmt: skip
        script = ROOT / "services/images/baikal/35-officetown.sh"
        return subprocess.run([str(script)], env=environ, capture_output=True, text=True)

    return run


def test_baikal_starts_without_its_wizard(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = start()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    root = tmp_path / "baikal"
    settings = yaml.safe_load((root / "config/baikal.yaml").read_text())
    assert settings["system"]["configured_version"] == "0.10.1" and settings["system"]["invite_from"] == ""
    # SHA-256 of `admin:BaikalDAV:admin pass`
    assert (
        settings["system"]["admin_passwordhash"] == "f1a6fe8a8c9e279fc0f5a083e178f87267657cd732f567b3369207f9d5c4c992"
    )
    assert settings["database"] == {
        "encryption_key": "0123abcd",
        "backend": "sqlite",
        "sqlite_file": str(root / "Specific/db/db.sqlite"),
    }
    assert stat.S_IMODE((root / "Specific/db").stat().st_mode) == 0o2770
    assert stat.S_IMODE((root / "Specific/db/db.sqlite").stat().st_mode) == 0o660
    assert stat.S_IMODE((root / "config/baikal.yaml").stat().st_mode) == 0o640


def test_started_again_it_keeps_accounts_and_settings(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    start()
    root = tmp_path / "baikal"
    before = (root / "config/baikal.yaml").read_text()
    schema = root / "Specific/db.sql"
    made = baikal.provision(root, schema, "", PEOPLE, lambda user: "pw", admin_password="x", secret="x")
    assert made == ("leah",), "an office makes people's accounts in what the script has made"
    assert start(BAIKAL_ADMIN_PASSWORD="other").returncode == 0
    assert (root / "config/baikal.yaml").read_text() == before
    with closing(sqlite3.connect(root / "Specific/db/db.sqlite")) as database:
        assert database.execute("SELECT username FROM users").fetchall() == [("leah",)]


def test_a_start_that_was_cut_short_leaves_no_half_made_database(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    schema = tmp_path / "baikal/Core/Resources/Db/SQLite/db.sql"
    schema.write_text("CREATE TABLE users (id integer); nonsense;")
    assert start().returncode != 0
    assert not (tmp_path / "baikal/Specific/db/db.sqlite").exists()
    schema.write_text(SCHEMA)
    assert start().returncode == 0


def test_a_baikal_of_no_known_version_is_not_started(
    start: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "baikal/Core/Distrib.php").write_text("<?php\n")
    done = start()
    assert done.returncode == 1 and "no version in" in done.stderr


def test_the_script_is_a_program() -> None:
    """nginx's entry point passes over what it may not execute."""
    script = ROOT / "services/images/baikal/35-officetown.sh"
    assert script.stat().st_mode & 0o111
    listed = subprocess.run(
        ["git", "ls-files", "--stage", str(script)], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert not listed or json.dumps(listed).startswith('"100755')
