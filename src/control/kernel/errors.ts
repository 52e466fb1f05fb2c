/** Refusals of any write: an unavailable store, an unreadable body (v4: §15). */
import { AppError, defineErrors, type FailureOptions } from '../../base/errors.js';
import {
  LogUnavailable,
  OutcomeUnknown,
  StoreBusy,
  StoreFull,
  StoreRefused,
  WriteUnconfirmed,
} from '../../store/failures.js';

const STORE = 'store';

const storeUnavailable = defineErrors(STORE, {
  busy: {
    status: 503,
    code: 1500,
    text: 'Another change is taking a long time to be stored. Nothing was changed; try again.',
  },
  logAway: {
    status: 503,
    code: 1500,
    text: 'The change was not stored, because the database that all nodes share cannot be written now. Nothing was changed; try again later.',
  },
  logSilent: {
    status: 503,
    code: 1500,
    text: 'It is not known whether the change was stored, because the database that all nodes share has not answered. Look whether it was made before you try again.',
  },
  refused: {
    status: 507,
    code: 1500,
    text: 'The system refused to store the change: a quota, a limit on the size of files, or the disk. Nothing was changed.',
  },
  unconfirmed: {
    status: 503,
    code: 1500,
    text: 'It is not known whether the change was stored, because the disk did not confirm it. Look whether it was made before you try again.',
  },
  reserved: {
    status: 507,
    code: 1500,
    text: 'The disk is nearly full: what is left is kept for small edits and for deletions. Nothing was changed; an administrator must make room.',
  },
  full: { status: 507, code: 1500, text: 'There is no space left to store the change. Nothing was changed.' },
});

/** A log that was away for as long as a write waits is seldom back at once. */
const RETRY_AFTER_S = 10;

/** What a temporary failure of the store is for clients; undefined for other errors. */
export function temporaryFailure(error: unknown): AppError | undefined {
  if (error instanceof StoreRefused) return storeUnavailable('refused');
  if (error instanceof StoreFull) return storeUnavailable('full');
  const later: FailureOptions = { retryAfterSeconds: RETRY_AFTER_S };
  if (error instanceof OutcomeUnknown) return storeUnavailable('logSilent', {}, later);
  if (error instanceof LogUnavailable) return storeUnavailable('logAway', {}, later);
  if (error instanceof WriteUnconfirmed) return storeUnavailable('unconfirmed', {}, later);
  return error instanceof StoreBusy ? storeUnavailable('busy') : undefined;
}

/** Whether a write was refused because of the store, whatever it would have written. */
export function isOfStore(error: unknown): boolean {
  return error instanceof AppError && error.key.startsWith(`${STORE}.`);
}

/** Octets that a record takes on the disk, with its history. */
export const OCTETS_OF_RECORD = 500;

/** What grows must leave the reserve of the disk alone. */
export function reservedFailure(): AppError {
  return storeUnavailable('reserved');
}

const requestFailure = defineErrors('request', {
  badBody: { status: 400, code: 9207, text: 'Request body is invalid.' },
});

/** An invalid body (v4: 9207). The reason goes into the chain, because clients know the text. */
export function badBody(reason: string, pointer?: string): AppError {
  const options: FailureOptions = { chain: [{ code: 9207, message: reason }], ...(pointer ? { pointer } : {}) };
  return requestFailure('badBody', {}, options);
}
