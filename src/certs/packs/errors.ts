/**
 * Refusals of certificate packs: HTTP status, v4 code, text. If the vendor documents no code, it is that of an invalid
 * body.
 */
import { defineErrors } from '../../base/errors.js';

export const packFailure = defineErrors('packs', {
  missing: { status: 404, code: 1001, text: 'The certificate pack was not found.' },
  quota: { status: 403, code: 1405, text: 'The quota of {quota} certificate packs is used up.' },
  universal: {
    status: 400,
    code: 9207,
    text: 'The universal certificate cannot be deleted. Disable it in the universal settings.',
  },
});
