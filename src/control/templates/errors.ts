/** Refusals about templates: HTTP status, code, text. */
import { defineErrors } from '../../base/errors.js';

export const templateFailure = defineErrors('templates', {
  missing: { status: 404, code: 7003, text: 'No template of this account has the identifier {id}.' },
  exists: { status: 400, code: 1061, text: 'The account has a template named {name} already.' },
  tooMany: { status: 403, code: 1405, text: 'The account has {most} templates, which is the limit.' },
  stale: { status: 412, code: 10412, text: 'The template is not in the required state. Its entity tag is {tag}.' },
  busy: { status: 429, code: 971, text: 'Too many files are being read for this account. Try again.' },
  tooHeavy: { status: 400, code: 9207, text: 'The file takes too long, or too much memory, to read.' },
  tooManyZones: {
    status: 400,
    code: 1006,
    text: 'The template was applied to more than {most} zones. Name those to which it is to be applied now.',
  },
});
