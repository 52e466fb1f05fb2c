/** What may be wrong with a sealed value at run time. */

export type VaultFault =
  /** The octets of the value, or its row, have changed since it was sealed. */
  | 'damaged'
  /** It was sealed with a master key that this process does not have. */
  | 'unknown-key'
  /** This process has no keys for the value's purpose. */
  | 'withheld';

/** Names the affected value, never its content. */
export class VaultError extends Error {
  constructor(
    readonly code: VaultFault,
    message: string,
  ) {
    super(message);
    this.name = 'VaultError';
  }
}
