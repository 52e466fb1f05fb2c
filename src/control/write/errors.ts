/** Refusals of any write: an unavailable store, an unreadable body (v4: §15). */
import { type AppError, defineErrors, type FailureOptions } from '../../base/errors.js';

export const storeUnavailable = defineErrors('store', {
  busy: {
    status: 503,
    code: 1500,
    text: 'Another change is taking a long time to be stored. Nothing was changed; try again.',
  },
  logAway: {
    status: 503,
    code: 1500,
    text: 'The change could not be stored, because the database that all nodes share cannot be written now. Try again later, and look first whether it was made.',
  },
  full: { status: 507, code: 1500, text: 'There is no space left to store the change. Nothing was changed.' },
});

const requestFailure = defineErrors('request', {
  badBody: { status: 400, code: 9207, text: 'Request body is invalid.' },
});

/** An invalid body (v4: 9207). The reason goes into the chain, because clients know the text. */
export function badBody(reason: string, pointer?: string): AppError {
  const options: FailureOptions = { chain: [{ code: 9207, message: reason }], ...(pointer ? { pointer } : {}) };
  return requestFailure('badBody', {}, options);
}
