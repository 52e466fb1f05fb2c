/** Refusals that any write may meet: a store that takes nothing, a body that cannot be read (v4: §15). */
import { type AppError, defineErrors, type FailureOptions } from '../../base/errors.js';

export const storeUnavailable = defineErrors('store', {
  busy: {
    status: 503,
    code: 1500,
    text: 'Another change is taking long to be stored. Nothing was changed; try again.',
  },
  full: { status: 507, code: 1500, text: 'There is no space left to store the change. Nothing was changed.' },
});

const requestFailure = defineErrors('request', {
  badBody: { status: 400, code: 9207, text: 'Request body is invalid.' },
});

/** A wrong body (v4: 9207); what is wrong with it goes into the chain, since clients know the text. */
export function badBody(reason: string, pointer?: string): AppError {
  const options: FailureOptions = { chain: [{ code: 9207, message: reason }], ...(pointer ? { pointer } : {}) };
  return requestFailure('badBody', {}, options);
}
