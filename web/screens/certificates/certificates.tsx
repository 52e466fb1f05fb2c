/** Certificates of a zone: the automatic one, those that are ordered, and what each waits for. */

import { Fragment } from 'preact';
import { call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField } from '../../kit/form.js';
import { ListState } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { AuthorityOptions, CertificateChip, Issuer } from '../../parts/certificate.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { shownName } from '../../parts/zone.js';
import { Link, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { Pack, UniversalView, Zone } from '../../types.js';
import { Order } from './order.js';
import { nextOf, OnePack } from './pack.js';

const PER_PAGE = 50;
const REFRESH_MS = 10_000;

export default function Certificates({ zone, base: screens }: ZoneScreenProps) {
  const { query } = usePlace();
  const shown = query.get('show');
  const base = `/zones/${zone.id}/ssl/certificate_packs`;
  const path = pathWith(base, { status: 'all', page: query.get('page') ?? undefined, per_page: PER_PAGE });
  const { answer, error, busy, reload } = useLoad<Pack[]>(path, { everyMs: REFRESH_MS, told: true });
  const writes = mayWrite(usePermissions(), 'certificates');
  const details = (pack: Pack) => (
    <OnePack key={pack.id} zone={zone} base={base} pack={pack} writes={writes} onChange={reload} />
  );
  return (
    <>
      <Universal zone={zone} writes={writes} onChange={reload} />
      <ListState loaded={{ answer, error, reload }} what="certificates" />
      {isPastEnd(answer?.info) && <PastEnd />}
      {answer?.result.length === 0 && !isPastEnd(answer.info) && (
        <Empty title="There are no certificates yet">
          <p>
            The automatic certificate is ordered with the first proxied record.{' '}
            <Link href={`${screens}/records`}>Edit the records</Link>
          </p>
        </Empty>
      )}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Certificates" class="stacked" busy={busy}>
          <Columns names={['Names', 'State', 'Authority', 'Ends', 'What comes next']} />
          <tbody>
            {answer.result.map((pack) => (
              <Fragment key={pack.id}>
                <Row pack={pack} isShown={shown === pack.id} />
                {shown === pack.id && (
                  <tr class="shown-row">
                    <td colSpan={5}>{details(pack)}</td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </TableFrame>
      )}
      {answer?.info && <Paging info={answer.info} nouns={['certificate', 'certificates']} />}
      {writes && <Order zone={zone} base={base} onMade={reload} />}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

function Row({ pack, isShown }: { readonly pack: Pack; readonly isShown: boolean }) {
  const [newest] = pack.certificates;
  return (
    <tr>
      <th scope="row">
        <Link class="name" href={withQuery({ show: isShown ? undefined : pack.id })} aria-expanded={isShown}>
          {pack.hosts.map((name) => shownName({ name })).join(', ')}
        </Link>{' '}
        {pack.type === 'universal' && <span class="muted small">automatic</span>}
      </th>
      <td>
        <CertificateChip status={pack.status} issuedBy={newest?.issued_by} />
      </td>
      <td data-name="Authority">
        <Issuer asked={pack.certificate_authority} issuedBy={newest?.issued_by} />
      </td>
      <td data-name="Ends">{newest ? <Time at={newest.expires_on} /> : <span class="muted">–</span>}</td>
      <td class="long">{nextOf(pack)}</td>
    </tr>
  );
}

interface UniversalProps {
  readonly zone: Zone;
  readonly writes: boolean;
  readonly onChange: () => void;
}

/** The automatic certificate: on or off, and who issues it. */
function Universal({ zone, writes, onChange }: UniversalProps) {
  const path = `/zones/${zone.id}/ssl/universal/settings`;
  const { answer, error, reload } = useLoad<UniversalView>(path);
  const sending = useSending();
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  const { enabled, certificate_authority: authority = '' } = answer.result;
  const send = (body: object): void =>
    void sending.run(async () => {
      await call('PATCH', path, { body });
      reload();
      onChange();
    });
  const name = shownName(zone);
  const state = enabled ? <span class="chip good">On</span> : <span class="chip">Off</span>;
  return (
    <Panel title="Automatic certificate" aside={state}>
      <p class="muted">
        {enabled ? (
          <>
            It is for <code>{name}</code> and all names one label below it, such as <code>www.{name}</code>. It is
            ordered with the first proxied record, and renewed without you. Names further below need a certificate of
            their own: order it below.
          </>
        ) : (
          'Visitors reach the names of this zone over HTTPS only where a certificate that you ordered covers them.'
        )}
      </p>
      {writes && enabled && (
        <ChoiceField
          label="Issued by"
          narrow
          value={authority}
          disabled={sending.busy}
          onChange={(certificate_authority) => send({ certificate_authority })}
        >
          <option value="">The server chooses</option>
          <AuthorityOptions />
        </ChoiceField>
      )}
      {writes && (
        <span class="actions begin">
          {enabled ? (
            <Confirm
              verb="Revoke it and switch it off"
              what="for this zone"
              busy={sending.busy}
              onConfirm={() => send({ enabled: false })}
            />
          ) : (
            <Button
              class="primary"
              disabled={sending.busy}
              onClick={() => send({ enabled: true })}
              text="Switch it on"
            />
          )}
        </span>
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && <Curl request={{ method: 'PATCH', path, body: { enabled: !enabled } }} />}
    </Panel>
  );
}
