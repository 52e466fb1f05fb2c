/** What new zones of an account begin with, and whether its proxied records are answered as such. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Switch } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { type DnsSettingsChange, DnsSettingsForm } from '../../parts/dns-settings.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { Account, AccountDnsSettings } from '../../types.js';

type Edit = { readonly zone_defaults: DnsSettingsChange } | { readonly enforce_dns_only: boolean };

export function AccountDefaults({ account }: { readonly account: Account }) {
  const path = `/accounts/${account.id}/dns_settings`;
  const writes = mayWrite(usePermissions(), 'account');
  const { answer, error, reload } = useLoad<AccountDnsSettings>(path);
  const [stored, setStored] = useState<AccountDnsSettings>();
  const [change, setChange] = useState<DnsSettingsChange>({});
  const [isSaved, setSaved] = useState(false);
  const sending = useSending();
  const settings = stored ?? answer?.result;
  const send = (body: Edit): void =>
    void sending.run(async () => {
      setSaved(false);
      setStored((await call<AccountDnsSettings>('PATCH', path, { body })).result);
      setSaved('zone_defaults' in body);
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!settings) return null;
  const { zone_defaults: defaults, enforce_dns_only: enforced } = settings;
  return (
    <>
      {sending.error && <ErrorNote error={sending.error} />}
      <Panel title={`New zones of ${account.name}`}>
        <p class="muted">They begin with these settings. Zones that exist keep theirs.</p>
        <DnsSettingsForm
          settings={defaults}
          isSecondary={false}
          writes={writes}
          busy={sending.busy}
          onSave={(zone_defaults) => send({ zone_defaults })}
          onChange={setChange}
        />
        {isSaved && (
          <p class="good-line" role="status">
            Saved.
          </p>
        )}
        {writes && <Curl request={{ method: 'PATCH', path, body: { zone_defaults: change } }} />}
      </Panel>
      <Panel title={`Proxying in ${account.name}`}>
        <Switch
          label={
            <>
              Never answer with the edge{' '}
              <span class="hint">
                Proxied names of all zones of this account answer the addresses of your own servers, as if no record
                were proxied.
              </span>
            </>
          }
          checked={enforced}
          disabled={!writes || sending.busy}
          onChange={() => send({ enforce_dns_only: !enforced })}
        />
        {writes && <Curl request={{ method: 'PATCH', path, body: { enforce_dns_only: !enforced } }} />}
      </Panel>
    </>
  );
}
