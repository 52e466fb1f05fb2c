/** What happened in a write, as a use case says it; the kernel adds who did it, and writes the row of the outbox (outbox.ts). */
import type { ZoneRow } from '../../store/zones/zones.js';

/** All kinds of events: what it is about, and what became of it. */
export const EVENT_KINDS = [
  ...(['account.create', 'account.edit', 'account.delete', 'account.dns_settings', 'account_quota.edit'] as const),
  ...([
    'user.create',
    'user.edit',
    'user.suspend',
    'user.resume',
    'user.delete',
    'membership.create',
    'hostname_allowance.edit',
  ] as const),
  ...(['member.invite', 'member.add', 'member.accept', 'member.reject', 'member.edit', 'member.remove'] as const),
  ...(['resource_group.create', 'resource_group.edit', 'resource_group.delete'] as const),
  ...(['user_group.create', 'user_group.edit', 'user_group.delete'] as const),
  ...(['key.create', 'key.edit', 'key.roll', 'key.revoke', 'key.derive', 'sign_in.refuse'] as const),
  ...(['session.create', 'session.confirm', 'session.delete', 'login_link.create', 'user_link.create'] as const),
  ...(['passkey.edit', 'passkey.delete', 'passkey.clone', 'recovery_codes.create', 'recovery_code.use'] as const),
  ...(['oidc_provider.create', 'oidc_provider.edit', 'oidc_provider.delete', 'sso.link', 'sso.logout'] as const),
  ...(['sso_connector.create', 'sso_connector.edit', 'sso_connector.delete'] as const),
  ...(['password.set', 'factors.remove', 'totp.create', 'totp.delete', 'passkey.create'] as const),
  ...(['zone.create', 'zone.edit', 'zone.delete', 'dns_settings.edit', 'zone.import', 'zone.restore'] as const),
  ...([
    'zone.activate',
    'zone.move',
    'zone.prove',
    'zone.serve',
    'zone.withhold',
    'zone.suspend',
    'zone.resume',
  ] as const),
  ...(['zone.transfer', 'zone.transfer_fail', 'zone.transfer_recover', 'zone.expire', 'zone.revive'] as const),
  ...(['zone.serial', 'zone_hold.create', 'zone_hold.edit', 'zone_hold.delete', 'zone_settings.edit'] as const),
  ...(['cache.purge', 'record.create', 'record.edit', 'record.replace', 'record.delete', 'record.import'] as const),
  ...(['dnssec.enable', 'dnssec.edit', 'dnssec.delete', 'dnssec.denial', 'dnssec.presigned', 'dnssec.export'] as const),
  ...([
    'dnssec.rollover',
    'dnssec.resign',
    'dnssec.ds_seen',
    'dnssec.ds_wait',
    'dnssec.rollover_wait',
    'dnssec.wait_end',
  ] as const),
  ...(['incoming.create', 'incoming.edit', 'incoming.delete', 'incoming.force_axfr'] as const),
  ...(['outgoing.create', 'outgoing.edit', 'outgoing.delete', 'outgoing.enable', 'outgoing.disable'] as const),
  ...(['outgoing.force_notify', 'secondary.behind', 'secondary.recover', 'universal_certificate.edit'] as const),
  ...([
    'tsig.create',
    'tsig.edit',
    'tsig.delete',
    'transfer_acl.create',
    'transfer_acl.edit',
    'transfer_acl.delete',
  ] as const),
  ...(['transfer_peer.create', 'transfer_peer.edit', 'transfer_peer.delete'] as const),
  ...(['catalog.create', 'catalog.edit'] as const),
  ...(['consumed_catalog.create', 'consumed_catalog.confirm', 'consumed_catalog.delete'] as const),
  ...(['bucket.create', 'bucket.edit', 'bucket.delete', 'bucket.bind', 'secret.put', 'secret.delete'] as const),
  ...(['bucket_domain.create', 'bucket_domain.edit', 'bucket_domain.delete'] as const),
  ...(['bucket_cors.put', 'bucket_cors.delete', 'bucket_lifecycle.put', 'bucket_lifecycle.delete'] as const),
  ...(['bucket_lock.put', 'bucket_lock.delete'] as const),
  ...(['custom_hostname.create', 'custom_hostname.edit', 'custom_hostname.delete'] as const),
  ...(['custom_hostname.activate', 'custom_hostname.move', 'fallback_origin.edit', 'fallback_origin.delete'] as const),
  ...(['ruleset.create', 'ruleset.edit', 'ruleset.delete'] as const),
  ...(['page_rule.create', 'page_rule.edit', 'page_rule.delete'] as const),
  ...(['monitor.create', 'monitor.edit', 'monitor.delete', 'pool.create', 'pool.edit', 'pool.delete'] as const),
  ...(['monitor_group.create', 'monitor_group.edit', 'monitor_group.delete'] as const),
  ...(['load_balancer.create', 'load_balancer.edit', 'load_balancer.delete'] as const),
  ...(['certificate_pack.create', 'certificate_pack.edit', 'certificate_pack.delete'] as const),
  ...(['certificate.issue', 'certificate.wait', 'certificate.fail', 'certificate.expire'] as const),
  ...(['certificate.recover', 'backup.overdue', 'backup.recover', 'warning.begin', 'warning.end'] as const),
  ...(['webhook.create', 'webhook.edit', 'webhook.delete', 'webhook.disable', 'pool.health'] as const),
  ...(['dns_template.create', 'dns_template.edit', 'dns_template.delete', 'dns_template.apply'] as const),
  ...(['alert_policy.create', 'alert_policy.edit', 'alert_policy.delete'] as const),
] as const;

export type EventKind = (typeof EVENT_KINDS)[number];

/** What an event is about. A zone alone is the subject itself; another subject may be of a zone, or of an account. */
export type EventSubject =
  | {
      readonly zone: EventZone;
      readonly id?: undefined;
      readonly name?: undefined;
      readonly account?: undefined;
    }
  | {
      readonly zone?: EventZone | undefined;
      /** Store number of the account, for what is of no zone. */
      readonly account?: number | undefined;
      readonly id?: Uint8Array | undefined;
      /** What people call it. */
      readonly name: string;
    };

export type EventZone = Pick<ZoneRow, 'id' | 'name' | 'account'>;

export type EventEntry = EventSubject & {
  readonly kind: EventKind;
  /** Plain values without secrets. */
  readonly before?: unknown;
  readonly after?: unknown;
};

/** Whether a pattern matches a kind: `thing.*` matches all kinds of a thing, `*` all kinds. */
export function coversKind(pattern: string, kind: string): boolean {
  return pattern === '*' || pattern === kind || (pattern.endsWith('.*') && kind.startsWith(pattern.slice(0, -1)));
}

/** Whether a text matches at least one kind of event. */
export function isKindPattern(text: string): boolean {
  return EVENT_KINDS.some((kind) => coversKind(text, kind));
}
