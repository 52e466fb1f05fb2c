/** Refusals of signing: HTTP status, v4 code, text. */
import { defineErrors } from '../../base/errors.js';

export const dnssecFailure = defineErrors('dnssec', {
  noKeys: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, so this change has to be signed, but its private keys cannot be opened: {reason}. Nothing was changed.',
  },
  noSigningKey: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, but has no key that signs {what}. Nothing was changed.',
  },
  clock: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, and its newest signature is valid from {newest} on, but the clock says {now}. Set the clock. Nothing was changed.',
  },
  notSigned: { status: 400, code: 1004, text: 'DNSSEC is not enabled for this zone.' },
  unsigning: { status: 400, code: 1004, text: 'The signatures of this zone are being removed. Try again in a moment.' },
  keyMissing: { status: 404, code: 1004, text: 'The zone has no such key.' },
});
