/** The DNS settings of a zone: its SOA, and how some of its records are answered. */
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { type DnsSettingsChange, DnsSettingsForm } from '../../parts/dns-settings.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Receipt, type Saved } from '../../parts/receipt.js';
import type { DnsSettings, Zone } from '../../types.js';

const dnsSettingsPath = ({ id }: Zone): string => `/zones/${id}/dns_settings`;

export function Answers({ zone, writes }: { readonly zone: Zone; readonly writes: boolean }) {
  const path = dnsSettingsPath(zone);
  const { answer, error, reload } = useLoad<DnsSettings>(path);
  const [stored, setStored] = useState<DnsSettings>();
  const [body, setBody] = useState<DnsSettingsChange>({});
  const [saved, setSaved] = useState<Saved>();
  const sending = useSending();
  const isSecondary = zone.type === 'secondary';
  const settings = stored ?? answer?.result;
  const save = (change: DnsSettingsChange): void =>
    void sending.run(async () => {
      const { result, change: number, serial } = await call<DnsSettings>('PATCH', path, { body: change });
      setStored(result);
      setSaved({ change: number, serial, at: Date.now() });
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  return (
    <Panel title={isSecondary ? 'Answers' : 'SOA and answers'}>
      {isSecondary && <p class="muted">The SOA of this zone comes from its primary, like its records.</p>}
      {saved && <Receipt key={saved.at} zone={zone} saved={saved} onClose={() => setSaved(undefined)} />}
      {settings ? (
        <DnsSettingsForm
          settings={settings}
          isSecondary={isSecondary}
          writes={writes}
          busy={sending.busy}
          onSave={save}
          onChange={setBody}
        />
      ) : (
        <Loading what="the settings" />
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && <Curl request={{ method: 'PATCH', path, body }} />}
    </Panel>
  );
}
