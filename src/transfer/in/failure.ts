/** Why a zone could not be transferred from a primary. */

/**
 * `unreachable`: no connection, or no answer in time. `refused`: it answered with an error. `signature`: TSIG or TLS.
 * `lying`: what it sent cannot be right. `limit`: more than is taken. `unfit`: the differences do not lead from the stored version
 * to another one, so the whole zone is needed. `unsupported`: zones of this kind are not taken. `policy`: nothing
 * may be connected there.
 */
export type TransferFault =
  | 'unreachable'
  | 'refused'
  | 'signature'
  | 'lying'
  | 'limit'
  | 'unfit'
  | 'unsupported'
  | 'policy';

/** The stored version stays as it is. The message says for people what the primary did. */
export class TransferFailed extends Error {
  constructor(
    readonly fault: TransferFault,
    message: string,
  ) {
    super(message);
    this.name = 'TransferFailed';
  }
}
