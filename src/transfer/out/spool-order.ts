/** The messages between the main thread and the threads that read zones for transfers. */
import type { ServingSettings } from '../../serving/zone.js';

export interface SpoolThreadData {
  readonly dataDir: string;
  readonly serving: ServingSettings;
}

/** A zone by its store number; `from`: the serial that the client has, for differences. */
export interface SpoolOrder {
  readonly zone: number;
  readonly from: number | undefined;
}

/** Answers of a thread, one order at a time. Octets are frames: each message after its length in two octets. */
export type SpoolMessage =
  /** Everything. */
  | { readonly kind: 'memory'; readonly octets: Uint8Array }
  /** So many octets are in a file by now; the receiver closes the descriptor. */
  | { readonly kind: 'file'; readonly fd: number; readonly written: number; readonly done: boolean }
  /** Instead of differences, which are not known or would be longer, the whole zone is sent. */
  | { readonly kind: 'whole' }
  /** The zone is not served. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failure'; readonly text: string };
