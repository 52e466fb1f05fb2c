/** CAA: who may issue certificates (RFC 8659 §4). */
import { latin1Bytes, latin1Text } from '../presentation.js';
import { defineType } from './define.js';
import { type Field, lengthPrefixedEnd, makeField, readText } from './field.js';
import { u8 } from './fields.js';
import { textRest } from './text-fields.js';
import { RdataError } from './type.js';

const TAG = /^[A-Za-z0-9]{1,255}$/;
/** The v4 API applies the limit of RFC 6844 §5.1, as certificate authorities do. */
const API_TAG = /^[a-z0-9]{1,15}$/;

/** Letters and digits preceded by a length octet; zone files may quote it. */
const tag: Field = makeField({
  schema: { type: 'string' },
  end(rdata, at) {
    const end = lengthPrefixedEnd(rdata, at);
    return end > 0 && TAG.test(latin1Text(rdata.subarray(at + 1, end))) ? end : -1;
  },
  parse(tokens, _origin, out, label) {
    const token = tokens.next(label);
    if (!TAG.test(token.text)) throw tokens.failure(`${label} must be letters and digits`, token);
    out.u8(token.text.length);
    out.octets(latin1Bytes(token.text));
  },
  print: (rdata, at, end) => latin1Text(rdata.subarray(at + 1, end)),
  spell: (rdata, at, end) => latin1Text(rdata.subarray(at + 1, end)).toLowerCase(),
  readContent: (tokens, out, label, context) => tag.readData(tokens.next(label).text, out, label, context),
  readData(value, out, label) {
    const text = readText(value, label).trim().toLowerCase();
    if (!API_TAG.test(text)) throw new RdataError(`${label} must be 1 to 15 letters and digits.`);
    out.u8(text.length);
    out.octets(latin1Bytes(text));
    return text;
  },
});

export const CAA = defineType({
  mnemonic: 'CAA',
  code: 257,
  rfc: 'RFC 8659 §4',
  fields: { flags: u8, tag, value: textRest(0) },
  api: {},
});
