"""The only way from the office to the container engine: a proxy that lets through what sandboxes need and nothing else."""
