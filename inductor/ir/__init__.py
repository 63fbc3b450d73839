"""Loop IR, schedules and Programs."""

FORMAT = 3  # of Programs in JSON: another number is another language
