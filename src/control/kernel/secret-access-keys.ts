/** Secrets with which S3 clients sign, as those see them who keep and check them; access/secret-access-keys.ts has them. */

export interface SecretAccessKeys {
  /**
   * Seals the secret that belongs to a new value of the token with this identifier. Call inside the write that stores it. Null when
   * there is no master key yet.
   */
  seal(id: Uint8Array, value: string): Uint8Array | null;
  /** Opens the secret of a token. Throws a VaultError. */
  open(id: Uint8Array, sealed: Uint8Array): string;
}
