"""Loop IR, schedules and Programs."""

FORMAT = 2  # of Programs in JSON: another number is another language
