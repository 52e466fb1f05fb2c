/** What can be wrong with a sealed value while the program runs. */

export type VaultFault =
  /** Its octets, or those of its row, are not what they were when it was sealed. */
  | 'damaged'
  /** It was sealed with a master key that this process does not have. */
  | 'unknown-key'
  /** This process was not given the keys of that purpose. */
  | 'withheld';

/** Says which value is meant, never what is in it. */
export class VaultError extends Error {
  constructor(
    readonly code: VaultFault,
    message: string,
  ) {
    super(message);
    this.name = 'VaultError';
  }
}
