/** The rules of a zone at the edge: a line to try them with, and the rules of each phase. */
import { ListState } from '../../kit/list.js';
import { readAhead, useLoad } from '../../load.js';
import { Panel } from '../../parts/facts.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { ListedRuleset, Zone } from '../../types.js';
import { PageRules } from './page-rules.js';
import { PHASES } from './phases.js';
import { RulesOfPhase } from './rules-of-phase.js';
import { Try } from './try.js';

const rulesetsPath = ({ id }: Zone): string => `/zones/${id}/rulesets`;

export function readFirst({ zone }: ZoneScreenProps): void {
  readAhead(rulesetsPath(zone));
}

export default function Rules({ zone }: ZoneScreenProps) {
  const path = rulesetsPath(zone);
  const permissions = usePermissions();
  const loaded = useLoad<ListedRuleset[]>(path);
  const { answer, reload } = loaded;
  const phases = PHASES.filter(({ area }) => mayRead(permissions, area));
  return (
    <>
      <Panel title="Try a URL">
        <p class="muted">Shows what the rules of this zone do with a request. Nothing is sent.</p>
        <Try path={path} host={`www.${zone.name}`} />
      </Panel>
      <ListState loaded={loaded} what="the rules" />
      {answer &&
        phases.map((phase) => (
          <RulesOfPhase
            key={phase.name}
            path={path}
            phase={phase}
            ruleset={answer.result.find((one) => one.phase === phase.name)?.id}
            writes={mayWrite(permissions, phase.area)}
            onMade={reload}
          />
        ))}
      {mayRead(permissions, 'pageRules') && (
        <PageRules path={`/zones/${zone.id}/pagerules`} writes={mayWrite(permissions, 'pageRules')} />
      )}
    </>
  );
}
