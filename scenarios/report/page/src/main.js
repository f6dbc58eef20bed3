// The page of weft explore --html: reads the content that weft wrote into it and draws each part.
import { showComparison } from './comparison.js';
import { showGains } from './gains.js';
import { showHeader } from './header.js';
import { showLanes } from './lanes.js';
import { showLosses } from './losses.js';
import { showRanking } from './ranking.js';
import { showSources } from './sources.js';
import { byId } from './dom.js';

/** What the reader looks at: a pattern, and one of its sizes. Parts of the page are told when it changes. */
class Selection {
  constructor(pattern, size) {
    this.pattern = pattern;
    this.size = size;
    this.followers = [];
  }
  follow(show) {
    this.followers.push(show);
    show(this);
  }
  choose(change) {
    Object.assign(this, change);
    for (const show of this.followers) show(this);
  }
}

const content = JSON.parse(byId('content').textContent);
const leading = content.exploration.answers[content.leading];
const selection = new Selection(leading.pair, leading.size);
document.title = content.title;
showHeader(content);
showGains(content, selection);
showRanking(content, selection);
showLosses(content, selection);
showLanes(content);
showComparison(content);
showSources(content);
