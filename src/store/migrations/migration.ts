/** What a migration is. */

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Statements, run in one transaction with the note that they ran. */
  readonly sql: string;
}
