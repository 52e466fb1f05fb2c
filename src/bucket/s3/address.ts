/** The address of bodies on S3: `s3://bucket/prefix?endpoint=https://…&region=…&path-style=true`. */
import { UserError } from '../../base/errors.js';

export interface S3Address {
  readonly bucket: string;
  /** Before every name; empty, or with a final slash. */
  readonly prefix: string;
  /** Undefined: Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Whether the bucket stands in the path of requests instead of in the host. */
  readonly pathStyle: boolean;
}

/** `auto` of others; Amazon's SDK wants some region for its signatures. */
const DEFAULT_REGION = 'us-east-1';
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const KNOWN = ['endpoint', 'region', 'path-style'];

/** Throws a UserError that says what is wrong. */
export function parseS3Address(text: string): S3Address {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refused(`${text} is not a URL`);
  }
  const { protocol, hostname: bucket, pathname, searchParams, username, hash, port } = url;
  if (protocol !== 's3:') throw refused('it does not begin with s3://');
  if (username !== '' || url.password !== '') throw refused('it holds credentials');
  if (!BUCKET.test(bucket) || port !== '') throw refused(`${bucket || 'nothing'} is not the name of a bucket`);
  if (hash !== '') throw refused(`${hash} means nothing`);
  for (const name of searchParams.keys()) {
    if (!KNOWN.includes(name)) throw refused(`${name} is not known`);
    if (searchParams.getAll(name).length > 1) throw refused(`it has ${name} twice`);
  }
  const endpoint = searchParams.get('endpoint') ?? undefined;
  if (endpoint !== undefined && !isOrigin(endpoint)) throw refused('its endpoint is not an origin');
  const style = searchParams.get('path-style') ?? (endpoint === undefined ? 'false' : 'true');
  if (style !== 'true' && style !== 'false') throw refused('path-style is neither true nor false');
  const prefix = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '');
  return {
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint,
    region: searchParams.get('region') ?? DEFAULT_REGION,
    pathStyle: style === 'true',
  };
}

function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text);
}

function refused(reason: string): UserError {
  return new UserError(
    `the address of objects cannot be used: ${reason}`,
    'Write it as s3://bucket/prefix, with ?endpoint=https://host:port&region=name behind it for a server that is not Amazon. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    2,
  );
}
