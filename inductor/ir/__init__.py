"""Loop IR, schedules and Programs."""

FORMAT = 5  # of Programs in JSON: another number is another language
