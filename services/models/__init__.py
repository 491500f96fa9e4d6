"""Models: who answers a `ModelRequest`. One `Model` a sibling module, named after what stands behind it.

openai_chat, openai_responses   an OpenAI-compatible endpoint, one attempt at a time
retry                           the one retry loop around them
connect, by_role                from an endpoint to a `Model`, and what it can do; a model for each role
scripted, recorded, delayed     tests, replay, and slow models on purpose
ledger, gate                    money and tokens; how many calls at once
classify, answers, structured   what an endpoint's bytes mean
asked                           what a client asks beyond what the port carries
http_server                     any `Model`, served as an OpenAI-compatible endpoint
"""
