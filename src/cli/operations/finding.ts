/** One line of `zoneplane doctor`. */
export interface Finding {
  /** What was looked at. */
  readonly what: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
}
