/** The listeners of the admin API. */
import { createSecureListener, type SecureListener } from '../../api/secure-listener.js';
import type { buildApi } from '../../api/server.js';
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import type { OwnCertificate } from '../../certs/own-certificate.js';
import type { Listener } from '../../egress/own-listeners.js';
import type { StartedApplication } from '../bucket-application.js';
import type { AdminReport } from '../ipc.js';
import { listenFor } from '../listen.js';
import type { RoleContext } from '../role.js';
import { type PemPair, readTlsFiles, watchTlsFiles } from '../tls-files.js';
import { tellListeners } from './listening.js';
import type { OwnCertificateKeeper } from './own-certificate.js';

interface ListenerOptions extends RoleContext {
  readonly ownCertificate: OwnCertificateKeeper | undefined;
  readonly application: Pick<StartedApplication, 'url'>;
}

/**
 * Starts the listeners of the API, including TLS if configured; returns the URLs. Rejects with a UserError when one
 * cannot listen.
 */
export async function startListeners(
  options: ListenerOptions,
  api: ReturnType<typeof buildApi>,
  apiLog: Logger,
  lifecycle: Lifecycle,
): Promise<Pick<AdminReport, 'url' | 'secureUrl'>> {
  const { adminHost: host, adminPort: port } = options.settings;
  // Fastify's own line about listening would repeat the announcement.
  apiLog.level = 'warn';
  const url = await listenFor(api, { what: 'the admin API', host, port, settings: 'admin' }, options.log);
  apiLog.level = options.log.level;
  options.onReload(() => {
    apiLog.level = options.log.level;
  });
  lifecycle.own('admin API', api, (part) => part.close());
  const secureUrl = await startSecureListener(options, api, lifecycle);
  const { dataDir } = options.settings;
  const told = tellListeners(dataDir, 'admin', placesOf(options, secureUrl !== undefined), options.log);
  lifecycle.own('list of listeners', told, (end) => end());
  return { url, ...(secureUrl !== undefined && { secureUrl }) };
}

/** What this process listens on. */
function placesOf({ settings, application }: ListenerOptions, isSecure: boolean): Listener[] {
  const { adminHost, adminPort, adminTlsPort, bucketHost, bucketPort } = settings;
  return [
    { host: adminHost, port: adminPort, place: 'here' },
    ...(isSecure ? [{ host: adminHost, port: adminTlsPort!, place: 'here' as const }] : []),
    ...(application.url === undefined ? [] : [{ host: bucketHost, port: bucketPort, place: 'here' as const }]),
  ];
}

/** The same API over TLS, if a port is set. Rejects with a UserError when it cannot listen. */
async function startSecureListener(
  { settings, clock, log, ownCertificate, onReload }: ListenerOptions,
  api: ReturnType<typeof buildApi>,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const { adminHost: host, adminTlsPort: port } = settings;
  const tls = port === undefined ? undefined : readTlsFiles(settings);
  const credentials = tls?.credentials ?? pairOf(ownCertificate?.current);
  if (port === undefined || credentials === undefined) return undefined;
  const listener = createListener(api, credentials, clock);
  const place = { what: 'the admin API over HTTPS', host, port, settings: 'admin-tls' };
  const url = await listenFor(listener, place, log);
  lifecycle.own('admin API over HTTPS', listener, (part) => part.close());
  if (tls) lifecycle.own('certificate watch', watchTlsFiles(tls.files, listener.renew, clock, log), (end) => end());
  if (tls) onReload(() => listener.renew(readTlsFiles(settings)!.credentials));
  ownCertificate?.onChange((next) => listener.renew(pairOf(next)!));
  return url.replace(/^http:/, 'https:');
}

function pairOf(own: OwnCertificate | undefined): PemPair | undefined {
  return own && { certificate: Buffer.from(own.certificate), key: Buffer.from(own.key) };
}

function createListener(api: ReturnType<typeof buildApi>, credentials: PemPair, clock: Clock): SecureListener {
  try {
    return createSecureListener(api, credentials, clock);
  } catch (error) {
    throw new UserError(
      `the certificate or key of the admin API cannot be used: ${messageOf(error)}`,
      'Check --tls-cert and --tls-key: both must be PEM files that belong together.',
    );
  }
}
