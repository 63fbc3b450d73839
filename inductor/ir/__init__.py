"""Loop IR, schedules and Programs."""

FORMAT = 1  # of Programs in JSON: another number is another language
