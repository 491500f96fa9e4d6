"""What people can do with a model's help: the tools that read, and the catalogue of all tools."""
