/** Refusals of custom hostnames: HTTP status, v4 code, text (v4: §15.4). */
import { AppError, defineErrors } from '../base/errors.js';

export const hostnameFailure = defineErrors('hostnames', {
  badJson: { status: 400, code: 1400, text: 'The request body is not a valid JSON object: {reason}.' },
  badMetadata: { status: 400, code: 1401, text: 'Custom metadata is invalid: {reason}.' },
  quota: { status: 403, code: 1405, text: 'The quota of {quota} custom hostnames is used up.' },
  duplicate: { status: 409, code: 1406, text: 'Duplicate custom hostname found.' },
  badName: { status: 400, code: 1407, text: 'Invalid custom hostname: {reason}.' },
  notAscii: {
    status: 400,
    code: 1408,
    text: 'Invalid custom hostname: it has characters that are not ASCII. Send internationalised names as punycode.',
  },
  reservedDomain: {
    status: 400,
    code: 1409,
    text: 'The top-level domain {name} is reserved: no authority issues for it.',
  },
  publicSuffix: {
    status: 400,
    code: 1410,
    text: 'Invalid custom hostname: {name} is a public suffix, not a name below one.',
  },
  exampleDomain: { status: 400, code: 1411, text: 'Custom hostnames below {name} are not allowed.' },
  wildcardMetadata: {
    status: 400,
    code: 1412,
    text: 'Custom metadata is not supported for wildcard custom hostnames.',
  },
  unreadableOrigin: { status: 400, code: 1415, text: 'Invalid custom origin server: expected a host name.' },
  longOrigin: { status: 400, code: 1416, text: 'Invalid custom origin server: it is longer than 255 characters.' },
  addressOrigin: { status: 400, code: 1417, text: 'Invalid custom origin server: an IP address is not allowed.' },
  badSni: {
    status: 400,
    code: 1418,
    text: 'Invalid custom origin SNI: expected a host name or :request_host_header:.',
  },
  sniWithoutOrigin: { status: 400, code: 1419, text: 'A custom origin SNI needs a custom origin server.' },
  wildcardOrigin: { status: 400, code: 1420, text: 'Invalid custom origin server: a wildcard is not allowed.' },
  foreignOrigin: {
    status: 400,
    code: 1421,
    text: 'Invalid custom origin server: {name} is not an A, AAAA or CNAME record of this zone.',
  },
  badHttp2: { status: 400, code: 1422, text: 'Invalid ssl.settings.{name}: expected on or off.' },
  badTls12Only: { status: 400, code: 1423, text: 'Invalid ssl.settings.tls_1_2_only: expected on or off.' },
  badTls13: { status: 400, code: 1424, text: 'Invalid ssl.settings.tls_1_3: expected on or off.' },
  badMinimumTls: {
    status: 400,
    code: 1425,
    text: 'Invalid ssl.settings.min_tls_version: expected 1.0, 1.1, 1.2 or 1.3.',
  },
  badCertificate: { status: 400, code: 1426, text: 'The custom certificate cannot be used: {reason}' },
  certificateMissing: { status: 400, code: 1427, text: 'A custom key needs a custom certificate.' },
  badKey: { status: 400, code: 1428, text: 'The custom key cannot be used: {reason}' },
  keyMissing: { status: 400, code: 1429, text: 'A custom certificate needs a custom key.' },
  badCsr: { status: 400, code: 1430, text: 'Invalid ssl.custom_csr_id: expected an identifier.' },
  csrMissing: { status: 404, code: 1431, text: 'The custom certificate signing request was not found.' },
  badMethod: { status: 400, code: 1432, text: 'Invalid ssl.method: {reason}.' },
  badType: { status: 400, code: 1433, text: 'Invalid ssl.type: expected dv.' },
  badSsl: { status: 400, code: 1434, text: 'Invalid ssl.{name}: expected {expected}.' },
  badId: { status: 400, code: 1435, text: 'Invalid custom hostname identifier: expected a UUID.' },
  missing: { status: 404, code: 1436, text: 'The custom hostname was not found.' },
  badContain: { status: 400, code: 1437, text: 'Invalid filter {name}: expected a part of a host name.' },
  mixedFilters: { status: 400, code: 1438, text: 'The filter {name} cannot be used together with {other}.' },
  hostnameFixed: { status: 409, code: 1439, text: 'The hostname of a custom hostname cannot be changed.' },
  methodAndType: { status: 400, code: 1440, text: 'An edit of ssl needs both ssl.method and ssl.type.' },
  badCiphers: { status: 400, code: 1442, text: 'Invalid ssl.settings.ciphers: {reason}.' },
  ciphersWithTls13: {
    status: 400,
    code: 1443,
    text: 'ssl.settings.ciphers cannot be chosen when the least version of TLS is 1.3.',
  },
  badLeaf: { status: 400, code: 1444, text: 'The custom certificate cannot be used: {reason}' },
  notCovered: { status: 400, code: 1446, text: 'The custom certificate cannot be used: {reason}' },
  badSignature: { status: 400, code: 1447, text: 'The custom certificate cannot be used: {reason}' },
  wildcardTwice: {
    status: 400,
    code: 1448,
    text: 'ssl.wildcard is not supported for a hostname that is a wildcard itself.',
  },
  badBundleMethod: {
    status: 400,
    code: 1449,
    text: 'Invalid ssl.bundle_method: expected ubiquitous, optimal or force.',
  },
  fallbackMissing: { status: 404, code: 1551, text: 'No fallback origin is set for this zone.' },
});

/** 429: the account asked for too many certificates (edge specification §4.1). */
export class IssuanceRefused extends AppError {
  constructor(
    readonly limit: { readonly count: number; readonly windowSeconds: number; readonly lockoutSeconds: number },
    /** When the lockout ends, milliseconds since 1970, and how long that is from now, whole seconds. */
    readonly untilMs: number,
    readonly retryAfterSeconds: number,
  ) {
    const every = limit.windowSeconds === 60 ? 'minute' : `${limit.windowSeconds} seconds`;
    super(
      'hostnames.issuance',
      429,
      971,
      `Please wait and consider throttling your request speed. You may issue up to ${limit.count} certificates per ${every}; no new certificates for ${limit.lockoutSeconds} seconds.`,
    );
  }
}
