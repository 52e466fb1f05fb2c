/** Ordering a certificate for names of the zone. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { ChoiceField, Form, LinesField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { AuthorityOptions } from '../../parts/certificate.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { asciiName } from '../../parts/zone.js';
import { go, useIsHere, withQuery } from '../../router.js';
import type { Pack, PackQuota, Zone } from '../../types.js';

const DAYS = [90, 30, 14] as const;

interface OrderProps {
  readonly zone: Zone;
  /** Path of the certificate packs. */
  readonly base: string;
  readonly onMade: () => void;
}

export function Order({ zone, base, onMade }: OrderProps) {
  const name = asciiName(zone);
  const [hosts, setHosts] = useState(`${name}\n`);
  const [method, setMethod] = useState('txt');
  const [days, setDays] = useState(90);
  const [authority, setAuthority] = useState('google');
  const quota = useLoad<PackQuota>(`${base}/quota`);
  const sending = useSending();
  const isHere = useIsHere();
  const path = `${base}/order`;
  const body = {
    type: 'advanced',
    hosts: hosts.split(/\s+/).filter((host) => host !== ''),
    validation_method: method,
    validity_days: days,
    certificate_authority: authority,
  };
  const submit = async (): Promise<void> => {
    const done = await sending.run(async () => {
      const { result } = await call<Pack>('POST', path, { body });
      if (isHere()) go(withQuery({ show: result.id, page: undefined }));
      onMade();
      quota.reload();
    });
    if (done) setHosts(`${name}\n`);
  };
  const { used, allocated } = quota.answer?.result.advanced ?? {};
  return (
    <Panel title="Order a certificate">
      <p class="muted">
        For names further below, such as <code>a.b.{name}</code>, another lifetime or another authority. It is renewed
        without you. {used !== undefined && `This zone has ${used} of at most ${allocated} that are ordered.`}
      </p>
      <Form onSubmit={submit} sending={sending} verb="Order" doing="Ordering…">
        <LinesField
          label="Names, one a line"
          required
          rows={3}
          value={hosts}
          spellcheck={false}
          autocapitalize="none"
          onChange={setHosts}
          hint={
            <>
              {name} must be among them. <code>*.shop.{name}</code> is for all names one label below shop.{name}.
            </>
          }
        />
        <ChoiceField label="Proven by" value={method} onChange={setMethod}>
          <option value="txt">TXT record</option>
          <option value="http">HTTP: the names lead here</option>
        </ChoiceField>
        <ChoiceField label="Authority" value={authority} onChange={setAuthority}>
          <AuthorityOptions />
        </ChoiceField>
        <ChoiceField label="Valid for" value={String(days)} onChange={(value) => setDays(Number(value))}>
          {DAYS.map((length) => (
            <option key={length} value={String(length)}>
              {length} days
            </option>
          ))}
        </ChoiceField>
      </Form>
      <Curl request={{ method: 'POST', path, body }} />
    </Panel>
  );
}
