"""Loop IR, schedules and Programs."""

FORMAT = 4  # of Programs in JSON: another number is another language
