"""placeholder until bench.api lands"""
