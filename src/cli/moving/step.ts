/** One thing that `import-config` does. */
import { AppError, UserError } from '../../base/errors.js';
import type { Context } from '../../control/kernel/context.js';
import type { SecondaryServices } from '../../control/secondary/tsigs.js';
import type { Place } from '../../foreign/place.js';
import { explainStoreFailure } from '../../roles/process/store-failure.js';
import type { KeyListings } from './signing-keys.js';

export interface Step {
  readonly kind: 'key' | 'zone' | 'secondary zone' | 'catalog' | 'updates' | 'secondary' | 'network';
  readonly place: Place;
  /** What it is about, such as the name of a zone. */
  readonly subject: string;
  /** What is done, in short; empty: the subject says it. */
  readonly detail: string;
  readonly standing: Standing;
}

/** `already`: it was so; `done`: this command did it; `refused`: it cannot be done as things are. */
export type Standing =
  | { readonly is: 'open'; readonly run: () => Promise<void> }
  | { readonly is: 'already' | 'done' }
  | { readonly is: 'refused'; readonly reason: string; readonly remedy?: string | undefined };

/** Where steps are done. */
export interface Target {
  readonly context: Context;
  readonly services: SecondaryServices;
  /** Identifier of the account. */
  readonly account: string;
  readonly unlock: () => Promise<void>;
  readonly listings: KeyListings;
}

/** What refuses a step, as a standing; a bug is thrown on. */
export function refusalOf(error: unknown): Extract<Standing, { is: 'refused' }> {
  const known = explainStoreFailure(error);
  if (known instanceof UserError) return { is: 'refused', reason: known.message, remedy: known.remedy };
  if (known instanceof AppError) return { is: 'refused', reason: known.message };
  throw error;
}
