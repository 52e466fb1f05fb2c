/** Identifiers and locators of ILNP: NID, L32, L64, LP (RFC 6742). */
import { hexGroups } from './binary-fields.js';
import { defineType } from './define.js';
import { domainName, ipv4, u16 } from './fields.js';

const locator64 = hexGroups(8, 4, ':');

export const NID = defineType({
  mnemonic: 'NID',
  code: 104,
  rfc: 'RFC 6742 §2.1',
  fields: { preference: u16, node_id: locator64 },
});

export const L32 = defineType({
  mnemonic: 'L32',
  code: 105,
  rfc: 'RFC 6742 §2.2',
  fields: { preference: u16, locator: ipv4 },
});

export const L64 = defineType({
  mnemonic: 'L64',
  code: 106,
  rfc: 'RFC 6742 §2.3',
  fields: { preference: u16, locator: locator64 },
});

export const LP = defineType({
  mnemonic: 'LP',
  code: 107,
  rfc: 'RFC 6742 §2.4',
  fields: { preference: u16, fqdn: domainName({ additional: true, root: true }) },
});
