"""How work is judged: freezing, rubrics, evaluation, language environments, reports, exports."""
