/** What a request says about its signature: in the Authorization header, or in the query of a presigned link. */
import type { IncomingMessage } from 'node:http';
import { remembered } from '../../base/remembered.js';
import { S3Error } from '../errors.js';
import { parameterOf, type Query } from '../target.js';
import { ALGORITHM, type Scope } from './sigv4.js';

export interface Authorization {
  readonly accessKeyId: string;
  readonly scope: Scope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** `20261125T230000Z`. */
  readonly timestamp: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Seconds for which a presigned link holds; undefined for a signature in a header. */
  readonly expires: number | undefined;
  readonly sessionToken: string | undefined;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^,\s]+) *, *SignedHeaders=([^,\s]+) *, *Signature=([0-9a-f]{64})$/;
const CREDENTIAL = /^([^/]{1,128})\/(\d{8})\/([a-z0-9-]{1,32})\/s3\/aws4_request$/;
const HEADER_NAMES = /^[a-z0-9!#$%&'*+.^_`|~-]+(;[a-z0-9!#$%&'*+.^_`|~-]+)*$/;
const TIMESTAMP = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;
/** Seconds: a week. */
const LONGEST_EXPIRES = 604_800;
const OLD = 'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.';

/** Undefined for a request without a signature. Throws for a malformed one, and for one of an older kind. */
export function readAuthorization(
  { headers }: Pick<IncomingMessage, 'headers'>,
  query: Query,
): Authorization | undefined {
  // Proxies empty a field instead of removing it.
  const field = headers.authorization || undefined;
  const algorithm = parameterOf(query, 'X-Amz-Algorithm');
  if (field !== undefined && algorithm !== undefined) {
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed.');
  }
  if (field !== undefined) return ofHeader(field, headers);
  if (algorithm !== undefined) return ofQuery(algorithm, query);
  if (parameterOf(query, 'AWSAccessKeyId') !== undefined) throw new S3Error('InvalidRequest', OLD);
  if (parameterOf(query, 'X-Amz-Signature') !== undefined) throw new S3Error('AuthorizationQueryParametersError');
  return undefined;
}

function ofHeader(field: string, headers: IncomingMessage['headers']): Authorization {
  if (!field.startsWith(ALGORITHM)) throw new S3Error('InvalidRequest', OLD);
  const [, credential, names, signature] = AUTHORIZATION.exec(field.trim()) ?? [];
  if (credential === undefined) throw new S3Error('AuthorizationHeaderMalformed');
  const amzDate = headers['x-amz-date'];
  const timestamp = typeof amzDate === 'string' ? amzDate : stampOf(headers.date);
  const token = headers['x-amz-security-token'];
  return {
    ...readCommon('AuthorizationHeaderMalformed', credential, names!, timestamp),
    signature: signature!,
    expires: undefined,
    sessionToken: typeof token === 'string' ? token : undefined,
  };
}

/** The Date header, in the form of the other one. */
function stampOf(date: string | undefined): string | undefined {
  const ms = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
}

function ofQuery(algorithm: string, query: Query): Authorization {
  if (algorithm !== ALGORITHM) throw new S3Error('InvalidRequest', OLD);
  const one = (name: string): string => {
    let [count, found] = [0, ''];
    for (const [known, value] of query) {
      if (known !== name) continue;
      count++;
      found = value;
    }
    if (count !== 1) throw new S3Error('AuthorizationQueryParametersError', `Expected one parameter ${name}.`);
    return found;
  };
  const expires = Number(/^\d{1,7}$/.exec(one('X-Amz-Expires'))?.[0] ?? Number.NaN);
  if (!(expires >= 1 && expires <= LONGEST_EXPIRES)) {
    const reason = `X-Amz-Expires must be a number of seconds from 1 to ${LONGEST_EXPIRES}.`;
    throw new S3Error('AuthorizationQueryParametersError', reason);
  }
  const signature = one('X-Amz-Signature');
  if (!/^[0-9a-f]{64}$/.test(signature)) throw new S3Error('AuthorizationQueryParametersError');
  const names = one('X-Amz-SignedHeaders');
  return {
    ...readCommon('AuthorizationQueryParametersError', one('X-Amz-Credential'), names, one('X-Amz-Date')),
    signature,
    expires,
    sessionToken: parameterOf(query, 'X-Amz-Security-Token'),
  };
}

function readCommon(
  code: 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError',
  credential: string,
  names: string,
  timestamp: string | undefined,
): Pick<Authorization, 'accessKeyId' | 'scope' | 'signedHeaders' | 'timestamp' | 'atMs'> {
  const found = readCredential(credential);
  if (!found) throw new S3Error(code, 'The credential must be KEY/DATE/REGION/s3/aws4_request.');
  const signedHeaders = readNames(names);
  if (!signedHeaders) throw new S3Error(code, 'The signed headers must be lower-case names.');
  const atMs = timestamp === undefined ? null : readTimestamp(timestamp);
  if (timestamp === undefined || atMs === null) {
    throw new S3Error('AccessDenied', 'The request needs a valid x-amz-date or Date header.');
  }
  const { scope } = found;
  if (!timestamp.startsWith(scope.date)) {
    throw new S3Error(code, 'The date of the credential is not that of the request.');
  }
  return { ...found, signedHeaders, timestamp, atMs };
}

const readCredential = remembered(1000, (text): Pick<Authorization, 'accessKeyId' | 'scope'> | null => {
  const [, accessKeyId, date, region] = CREDENTIAL.exec(text) ?? [];
  return accessKeyId === undefined ? null : { accessKeyId, scope: { date: date!, region: region! } };
});

const readNames = remembered(1000, (text): readonly string[] | null =>
  HEADER_NAMES.test(text) ? text.split(';') : null,
);

const readTimestamp = remembered(1000, (text): number | null => {
  const [, ...parts] = TIMESTAMP.exec(text) ?? [];
  if (parts.length === 0) return null;
  const [year, month, day, hour, minute, second] = parts.map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
});
