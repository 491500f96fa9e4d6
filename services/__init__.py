"""How the outside does it: models, storage, sandboxes, chat, mail, calendar. Each part fulfils a port of simulator/."""
