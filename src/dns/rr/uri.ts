/** URI (RFC 7553). */
import { defineType } from './define.js';
import { u16 } from './fields.js';
import { textRest } from './text-fields.js';

export const URI = defineType({
  mnemonic: 'URI',
  code: 256,
  rfc: 'RFC 7553 §4',
  fields: { priority: u16, weight: u16, target: textRest(1) },
  api: { priority: 'beside' },
});
