/** Instants on the wire: RFC 3339 in UTC with six fractional digits (v4: §1.3). */

/** `2024-05-05T12:00:00.123456Z` of microseconds since 1970. */
export function printTime(us: number): string {
  const ms = Math.floor(us / 1000);
  const micro = String(us - ms * 1000).padStart(3, '0');
  return `${new Date(ms).toISOString().slice(0, -1)}${micro}Z`;
}

/** Like {@link printTime}; an instant that is not set stays null, never an empty text (v4: §1.3). */
export function printOptionalTime(us: number | null | undefined): string | null {
  return us === null || us === undefined ? null : printTime(us);
}
