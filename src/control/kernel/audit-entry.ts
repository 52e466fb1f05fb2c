/** A row of the audit log, as a use case writes it. */
export interface AuditEntry {
  /** The action, such as `record.create`. */
  readonly action: string;
  readonly zone?: Uint8Array;
  /** Store number of the account, for entries without a zone. */
  readonly account?: number | undefined;
  /** Identifier of the changed object. */
  readonly object?: Uint8Array;
  /** Plain values without secrets. */
  readonly before?: unknown;
  readonly after?: unknown;
}
