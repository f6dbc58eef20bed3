// Bundles the page: node build.mjs FOLDER_OF_NODE_MODULES OUTPUT. The page is written whole or not at all.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [packages, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const { buildSync } = createRequire(join(packages, 'any.js'))('esbuild');

function bundled(entry, options) {
  return buildSync({
    entryPoints: [join(here, entry)], nodePaths: [packages], bundle: true, minify: true, write: false, charset: 'utf8',
    define: { 'process.env.NODE_ENV': '"production"' }, legalComments: 'none', ...options,
  }).outputFiles[0].text.trim();
}

/** What others' licences want said, as a comment of the page. */
function licences() {
  const text = ['echarts/NOTICE', 'zrender/LICENSE'].map((file) => readFileSync(join(packages, file), 'utf8').trim());
  return `<!--\nThe script contains Apache ECharts (Apache License 2.0), zrender and tslib (0BSD).\n\n${text.join('\n\n').replaceAll('--', '- -')}\n-->\n`;
}

function filled(page, place, text) {
  const parts = page.split(place);
  if (parts.length !== 2) throw new Error(`page.html: expected ${place} once`);
  return parts.join(text);
}

// "</script" would end the script that it stands in.
const script = bundled('src/main.js', { format: 'iife', target: 'es2020' }).replaceAll('</script', '<\\/script');
let page = readFileSync(join(here, 'page.html'), 'utf8');
page = filled(page, '/* the style */', bundled('style.css', {}));
page = filled(page, '/* the script */', script);
page = filled(page, '<html lang="en">\n', `${licences()}<html lang="en">\n`);
writeFileSync(`${output}.part`, page);
renameSync(`${output}.part`, output);
