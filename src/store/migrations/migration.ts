/** What a migration is. */

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Statements, run in one transaction with the note that they ran. */
  readonly sql: string;
  /**
   * Whether this program also works without it. In a cluster, it then waits until all nodes know it, so that none stops writing
   * while they are upgraded one by one; otherwise the first node that is upgraded migrates.
   */
  readonly canWait?: boolean;
}
