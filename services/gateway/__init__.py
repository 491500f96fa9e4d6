"""The gateway: an OpenAI-compatible proxy in front of a `Model`, behind which foreign agents run.

It counts turns, enforces a budget of them, accounts tokens and money, and records an ATIF trajectory, the same for
every agent.

atif        the trajectory's format, written and checked without any library of its makers
asking      from a request's body to what the model is asked
threads     which messages of a request are new
recorder    from requests and answers to a trajectory
sessions    a session: its turns, its file
server      the HTTP side
"""
