/** Times in the API: RFC 3339 in UTC with six fractional digits (v4: §1.3). */

/** Prints microseconds since 1970 as `2024-05-05T12:00:00.123456Z`. */
export function printTime(us: number): string {
  const ms = Math.floor(us / 1000);
  const micro = String(us - ms * 1000).padStart(3, '0');
  return `${new Date(ms).toISOString().slice(0, -1)}${micro}Z`;
}

/** Like {@link printTime}; an absent time stays null, never an empty text (v4: §1.3). */
export function printOptionalTime(us: number | null | undefined): string | null {
  return us === null || us === undefined ? null : printTime(us);
}
