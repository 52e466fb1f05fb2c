/** Why a probe failed, in the words of the API. */

export const FAILURE_REASONS = [
  'No failures',
  'TCP connection failed',
  'TCP Timeout',
  'HTTP timeout occurred',
  'Response code mismatch error',
  'Response body mismatch error',
  'TLS untrusted certificate error',
  'TLS name mismatch error',
  'TLS protocol error',
  'TLS unrecognized name error',
  'TLS Handshake Failure',
  'No route to host error',
  'Network Unreachable',
  'HTTP Invalid Response',
  'DNS Unknown Host',
  'DNS Internal',
  'Connection Reset by Peer',
  'Monitor Config Error',
  'Other Failure',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

/** How far a connection was when it failed. */
export type ProbeStage = 'connect' | 'handshake' | 'exchange';

/** By the error codes of the system, of TLS (OpenSSL) and of the parser of HTTP. */
const BY_CODE: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: 'TCP connection failed',
  ETIMEDOUT: 'TCP Timeout',
  EHOSTUNREACH: 'No route to host error',
  EHOSTDOWN: 'No route to host error',
  ENETUNREACH: 'Network Unreachable',
  EADDRNOTAVAIL: 'Network Unreachable',
  ECONNRESET: 'Connection Reset by Peer',
  EPIPE: 'Connection Reset by Peer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS name mismatch error',
  HOSTNAME_MISMATCH: 'TLS name mismatch error',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS untrusted certificate error',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS untrusted certificate error',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS untrusted certificate error',
  UNABLE_TO_GET_ISSUER_CERT: 'TLS untrusted certificate error',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS untrusted certificate error',
  INVALID_PURPOSE: 'TLS untrusted certificate error',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'TLS unrecognized name error',
  ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME: 'TLS unrecognized name error',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS protocol error',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'TLS protocol error',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'TLS protocol error',
  ERR_SSL_HTTP_REQUEST: 'TLS protocol error',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'TLS protocol error',
  ERR_SSL_UNEXPECTED_MESSAGE: 'TLS protocol error',
};

/** The reason for an error of a connection, by its code. A failure of another kind that is not known is `Other Failure`. */
export function reasonOfError(code: string | undefined, stage: ProbeStage): FailureReason {
  const known = BY_CODE[code ?? ''];
  if (known && !(stage === 'handshake' && known === 'Connection Reset by Peer')) return known;
  if (code?.startsWith('CERT_')) return 'TLS untrusted certificate error';
  if (code?.startsWith('HPE_')) return 'HTTP Invalid Response';
  return stage === 'handshake' ? 'TLS Handshake Failure' : 'Other Failure';
}
