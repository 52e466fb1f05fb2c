/** The S3 API inside the admin process: it listens as the setting says, or once a token exists that clients can sign with. */
import { messageOf, UserError } from '../../base/errors.js';
import { parseCidrSet } from '../../base/ip.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { MetricSample } from '../../base/metrics.js';
import { createS3Metrics } from '../../bucket/application-metrics.js';
import type { LinkSigner } from '../../bucket/credentials/keys.js';
import type { UploadingStore } from '../../bucket/uploads/uploads.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Listener } from '../../egress/own-listeners.js';
import { createS3Server, type S3Server } from '../../s3/server.js';
import { presign } from '../../s3/signature/presign.js';
import { hasSecretAccessKeys } from '../../store/access/keys.js';
import type { ClusterMember } from '../cluster/member.js';
import { listenFor } from '../process/listen.js';
import type { RoleContext } from '../process/role.js';
import type { OwnCertificateKeeper } from './own-certificate.js';
import { startSecureListener } from './secure-listener.js';

export interface S3Door {
  /** Undefined while it does not listen. */
  readonly url: string | undefined;
  /** Host, and port unless it is the usual one, by which clients name it. */
  readonly host: string;
  /** How links to objects are signed for it. */
  readonly links: LinkSigner;
  /** What it may listen on, now or later. */
  readonly places: readonly Listener[];
  /** Looks whether it is to listen by now: something was committed. */
  look(): void;
  samples(): MetricSample[];
}

export interface S3Parts {
  readonly base: ContextBase;
  readonly objects: UploadingStore;
  readonly lifecycle: Lifecycle;
  /** In a cluster. */
  readonly member: ClusterMember | undefined;
  readonly ownCertificate: OwnCertificateKeeper | undefined;
}

/** Milliseconds between two looks without a commit that was announced: a safety net. */
const LOOK_MS = 5000;

/**
 * If its default port is occupied, it is skipped with a warning, because name service is more important. Rejects with a UserError
 * when a configured address cannot be used.
 */
export async function startS3Door(options: RoleContext, parts: S3Parts): Promise<S3Door> {
  const { settings, clock, log } = options;
  const { base, lifecycle } = parts;
  const metrics = createS3Metrics();
  const server = createS3Server({
    ...{ base, clock, log, metrics, objects: parts.objects },
    domain: settings.s3Domain,
    limit: settings.s3ObjectLimit,
    acceptsUnsigned: settings.s3UnsignedBodies === 'any',
    trustedProxies: parseCidrSet(settings.trustProxies),
    ...(parts.member && { refresh: () => parts.member!.replica.refresh() }),
  });
  let url: string | undefined;
  let begun = false;
  const begin = async (): Promise<void> => {
    begun = true;
    url = await listen(options, parts, server);
  };
  const look = (): void => {
    if (begun || settings.s3 !== 'auto' || !hasSecretAccessKeys(base.store)) return;
    begin().catch((error: unknown) => warn(options, error));
  };
  if (settings.s3 === 'on' || (settings.s3 === 'auto' && hasSecretAccessKeys(base.store))) {
    await begin().catch((error: unknown) => {
      const chosen = [options.origins.s3, options.origins.s3Host, options.origins.s3Port];
      if (chosen.some(({ kind }) => kind !== 'default') || !(error instanceof UserError)) throw error;
      warn(options, error);
    });
  }
  lifecycle.own('watch for S3 clients', clock.inStep(LOOK_MS, look), (end) => end());
  return {
    get url() {
      return url;
    },
    host: hostOf(settings),
    links: { endpoint: endpointOfS3(settings), presign },
    places: settings.s3 === 'off' ? [] : placesOf(options),
    look,
    samples: metrics.samples,
  };
}

async function listen(options: RoleContext, { lifecycle, ownCertificate }: S3Parts, server: S3Server): Promise<string> {
  const { s3Host: host, s3Port: port, s3TlsPort } = options.settings;
  const url = await listenFor(server, { what: 'the S3 API', host, port, settings: 's3' }, options.log);
  lifecycle.own('S3 API', server, (part) => part.close());
  const place = { what: 'the S3 API', host, port: s3TlsPort, settings: 's3-tls' };
  const { answer, answerFirst, connection } = server;
  const answerer = { answer, answerFirst, saysContinue: true, connection };
  const secure = await startSecureListener({ ...options, ownCertificate }, place, answerer, lifecycle);
  options.log.info({ url, ...(secure !== undefined && { secureUrl: secure }) }, 'S3 API listens');
  return url;
}

function hostOf({ s3Domain, s3Host, s3Port }: RoleContext['settings']): string {
  return s3Domain ?? `${s3Host.includes(':') ? `[${s3Host}]` : s3Host}:${s3Port}`;
}

/** Where clients reach it, as the settings say it. */
export function endpointOfS3({ s3Host, s3Port, s3TlsPort, s3Domain }: RoleContext['settings']): URL {
  const host = s3Domain ?? (s3Host.includes(':') ? `[${s3Host}]` : s3Host);
  return new URL(s3TlsPort === undefined ? `http://${host}:${s3Port}` : `https://${host}:${s3TlsPort}`);
}

function placesOf({ settings }: RoleContext): Listener[] {
  const { s3Host: host, s3Port, s3TlsPort } = settings;
  const ports = s3TlsPort === undefined ? [s3Port] : [s3Port, s3TlsPort];
  return ports.map((port) => ({ host, port, place: 'here' }));
}

function warn({ log }: RoleContext, error: unknown): void {
  const remedy = error instanceof UserError ? error.remedy : undefined;
  log.warn({ reason: messageOf(error), remedy }, 'the S3 API is not served');
}
