/** The listeners of the admin API. */
import type { buildApi } from '../../api/server.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import type { Listener } from '../../egress/own-listeners.js';
import type { AdminReport } from '../process/ipc.js';
import { listenFor } from '../process/listen.js';
import { tellListeners } from '../process/listening.js';
import type { RoleContext } from '../process/role.js';
import type { StartedApplication } from './bucket-application.js';
import type { OwnCertificateKeeper } from './own-certificate.js';
import type { S3Door } from './s3-door.js';
import { startSecureListener } from './secure-listener.js';

interface ListenerOptions extends RoleContext {
  readonly ownCertificate: OwnCertificateKeeper | undefined;
  readonly application: Pick<StartedApplication, 'url'>;
  readonly s3: Pick<S3Door, 'places'>;
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
  const secureUrl = await startSecureListener(
    options,
    { what: 'the admin API', host, port: options.settings.adminTlsPort, settings: 'admin-tls' },
    { answer: (request, response) => api.routing(request, response), answerFirst: api.answerFirst },
    lifecycle,
  );
  const { dataDir } = options.settings;
  const told = tellListeners(dataDir, 'admin', placesOf(options, secureUrl !== undefined), options.log);
  lifecycle.own('list of listeners', told, (end) => end());
  return { url, ...(secureUrl !== undefined && { secureUrl }) };
}

/** What this process listens on. */
function placesOf({ settings, application, s3 }: ListenerOptions, isSecure: boolean): Listener[] {
  const { adminHost, adminPort, adminTlsPort, bucketHost, bucketPort } = settings;
  return [
    { host: adminHost, port: adminPort, place: 'here' },
    ...(isSecure ? [{ host: adminHost, port: adminTlsPort!, place: 'here' as const }] : []),
    ...(application.url === undefined ? [] : [{ host: bucketHost, port: bucketPort, place: 'here' as const }]),
    ...s3.places,
  ];
}
