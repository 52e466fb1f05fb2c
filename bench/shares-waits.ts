/** The request to a measuring thread, and its results. */

export const KINDS = ['read', 'read over a new connection', 'edit', 'DNS after an edit', 'DNS answer'] as const;

export interface WaitsQuestion {
  /** Path of the records of a zone. */
  readonly records: string;
  /** Of DNS; that of the API is the next one. */
  readonly port: number;
  /** For the names of the figures. */
  readonly what: string;
}
