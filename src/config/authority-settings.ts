/** ACME directories of certificate authorities. An authority without a directory is built in. */
import { about } from './setting-about.js';
import { text } from './values.js';

/** Names of authorities in the v4 API. */
export const AUTHORITY_NAMES = ['google', 'lets_encrypt', 'ssl_com', 'digicert'] as const;

const GROUP = 'Certificates';

function directory(title: string) {
  return text()
    .refine(isSecure, { error: 'expected an https URL, or an http URL of this machine' })
    .optional()
    .register(about, {
      group: GROUP,
      value: 'url',
      summary: `ACME directory of ${title}; setting it means agreeing to its terms of service`,
      defaultText: 'the built-in authority',
    });
}

function contact(title: string) {
  return text()
    .refine((entry) => /^[^\s@,]+@[^\s@,]+$/.test(entry), { error: 'expected an e-mail address' })
    .optional()
    .register(about, {
      group: GROUP,
      value: 'address',
      summary: `E-mail address of the account at ${title}`,
      defaultText: 'none',
    });
}

function keyId(title: string) {
  return text()
    .optional()
    .register(about, {
      group: GROUP,
      value: 'id',
      summary: `Key identifier of the external account at ${title}, if it requires one`,
      defaultText: 'none',
    });
}

function hmac(title: string) {
  return text()
    .refine((entry) => /^[A-Za-z0-9_-]+={0,2}$/.test(entry), { error: 'expected a key in base64url' })
    .optional()
    .register(about, {
      group: GROUP,
      value: 'key',
      secret: true,
      summary: `HMAC key of the external account at ${title}, base64url`,
      defaultText: 'none',
    });
}

function isSecure(entry: string): boolean {
  if (!URL.canParse(entry)) return false;
  const { protocol, hostname } = new URL(entry);
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname));
}

export const authoritySettings = {
  caGoogleDirectory: directory('Google'),
  caGoogleContact: contact('Google'),
  caGoogleEabKid: keyId('Google'),
  caGoogleEabHmac: hmac('Google'),
  caLetsEncryptDirectory: directory('Let’s Encrypt'),
  caLetsEncryptContact: contact('Let’s Encrypt'),
  caLetsEncryptEabKid: keyId('Let’s Encrypt'),
  caLetsEncryptEabHmac: hmac('Let’s Encrypt'),
  caSslComDirectory: directory('SSL.com'),
  caSslComContact: contact('SSL.com'),
  caSslComEabKid: keyId('SSL.com'),
  caSslComEabHmac: hmac('SSL.com'),
  caDigicertDirectory: directory('DigiCert'),
  caDigicertContact: contact('DigiCert'),
  caDigicertEabKid: keyId('DigiCert'),
  caDigicertEabHmac: hmac('DigiCert'),
};
