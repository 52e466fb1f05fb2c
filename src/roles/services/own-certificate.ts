/** `tls-cert auto`: the service's own certificate, renewed while the server runs, for all listeners that use it. */
import { parseIP } from '../../base/ip.js';
import type { CertificateContext } from '../../certs/issuance/context.js';
import {
  dropOwnRequest,
  isOwnOld,
  isOwnPending,
  issuedOwnCertificate,
  keepOwnRequest,
  OWN_CERTIFICATE_JOB,
  type OwnCertificate,
  signOwnCertificate,
} from '../../certs/own-certificate.js';
import { AUTOMATIC } from '../../config/dns-settings.js';
import type { Settings } from '../../config/schema.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule, scheduleOnce } from '../../jobs/schedule.js';

export interface OwnCertificateKeeper {
  readonly current: OwnCertificate;
  readonly job: JobKind;
  /** Calls `listener` with each certificate that replaces the current one. */
  onChange(listener: (certificate: OwnCertificate) => void): void;
}

const PENDING_LOOK_MS = 2_000;
const LOOK_MS = 3_600_000;
const SHARED_LOOK_MS = 60_000;

/**
 * Undefined unless the settings require one. There is a certificate when this resolves, even without a network.
 * `onCertificate` is called with it and with each replacement.
 */
export async function startOwnCertificate(
  settings: Settings,
  ctx: CertificateContext,
  onCertificate: (certificate: OwnCertificate) => void = () => {},
): Promise<OwnCertificateKeeper | undefined> {
  const { store, clock, log } = ctx;
  if (settings.tlsCert !== AUTOMATIC) return undefined;
  const names = settings.tlsNames ?? settings.nameservers;
  const localNames = [...names, 'localhost', ...addressesOf(settings)];
  const listeners = [onCertificate];
  let signed: OwnCertificate | undefined;

  async function choose(): Promise<OwnCertificate> {
    const issued = issuedOwnCertificate(ctx);
    if (issued) return issued;
    if (!signed || isOwnOld(signed, clock.nowMs())) signed = await signOwnCertificate(ctx, localNames);
    return signed;
  }

  let current = await choose();
  onCertificate(current);
  const nowMs = clock.nowMs();
  await store.write(() => scheduleOnce(store, { kind: OWN_CERTIFICATE_JOB, subject: '', runAtMs: nowMs }, nowMs));

  async function renew(): Promise<void> {
    const next = await choose();
    if (next.certificate === current.certificate) return;
    current = next;
    log.info({ names, notAfter: new Date(next.notAfterMs).toISOString() }, 'the service has a new certificate');
    for (const listener of listeners) listener(next);
  }

  // The job runs on one node of a cluster; the others find there what came of it.
  if (settings.cluster !== undefined) {
    const report = (error: unknown): void => log.error({ err: error }, 'the certificate of the service was not read');
    clock.every(SHARED_LOOK_MS, () => void renew().catch(report));
  }
  return {
    get current() {
      return current;
    },
    job: {
      async handler({ requireLease }) {
        await store.write(() => {
          requireLease();
          keepOwnRequest(ctx, names);
        });
        await renew();
        return { againAtMs: clock.nowMs() + (isOwnPending(store) ? PENDING_LOOK_MS : LOOK_MS) };
      },
      followJobs() {
        if (!isOwnOld(current, clock.nowMs())) return;
        schedule(store, { kind: OWN_CERTIFICATE_JOB, subject: '', runAtMs: clock.nowMs() }, clock.nowMs());
      },
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/** The job when the settings no longer require such a certificate. */
export function endOwnCertificate(ctx: CertificateContext): JobKind {
  return {
    async handler({ requireLease }) {
      await ctx.store.write(() => {
        requireLease();
        dropOwnRequest(ctx);
      });
      return { done: true };
    },
  };
}

/** Its names and addresses on this machine and, as far as the settings show, from outside. */
function addressesOf({ adminHost, dnsHost, nameserverAddresses = [] }: Settings): readonly string[] {
  const all = ['127.0.0.1', '::1', adminHost, ...dnsHost, ...nameserverAddresses];
  return [...new Set(all)].filter((text) => parseIP(text)?.some((octet) => octet !== 0));
}
