// SPDX-License-Identifier: Apache-2.0
// Runs of four bytes that ordinary logs are full of, with how common they are: in the kind of log
// that has them most: training runs, kernels, daemons, test suites. Letters are folded to lower
// case as the literal matcher folds them (so '[' reads '{' and '_' reads DEL), digits all read 0. A
// run that is missing only makes a literal look rarer than it is. For common/engine/rarity.cc.
#pragma once

#include <string_view>

namespace nvab {

struct CommonGrams {
  int bits;                // a run begins at one of 2^bits places
  std::string_view grams;  // one behind the other, four bytes each
};

// clang-format off
constexpr CommonGrams kCommonGrams[] = {
    {5,
     " 000 ent mod pro sta, st.0000 | 0.0000.0000 000.0000000}00: 00:000} 0: e0:00: enate cuou"
     "d prde, e 00e, sed penteeredeth0h00:iscumiscmodenterode,omisous promred romis moscuostat"
     "tatete 0tereth00uousus m{000"},
    {6,
     "     00: eth vet.jav0 000-0000 000 n00 |00-00} e0} v: 00:00 :00:e000javaveth} et} ve"},
    {7,
     "   0  0   00 0 0 0.0 gdb ite lib los nod num | l | n+00:-00 -00--00t.0 |.0-0.0.0.00..bas"
     ".cl0.exa.exp.hpc.org0 no0 st0+000.0 0.0-0.0.0.cl0.hp00 s00+000, 00.c000+000-000:000e00t0"
     "00}:0t000}: : 0.: gd:00.:000:amd=000amd0amplase/ass:asseatioatusava/b.babasec.excl0.d00 "
     "db.bde00e.ored: eratexamexp:gdb.hpc.ing iterl0.hle.olossmd00mplenodenov ode0org ov  pack"
     "passpc.eple.ratiructs: gsed:ss: ssedstrut00:tatuteratesttiontructus v  0xampxp: | nu"},
    {8,
     " ... 00  00. inf jav ker nor of  per sys typ unp | g): 0+deb-----nes-str...-.....00-/inf"
     "/jav0 0.0 po0): 0+de0-0+00 l00 p00/0000,00e-00u000\17700:am0e-00\17700:   : ty=0.0=00."
     ">javall-aluearniava:b00uber callconfcts-d lid-std: jd=00deb0downd{00d{0}e-00e/ine: 0eb00"
     "ed led sed-sel: emd{er oernees-test.estefcalid=0infcinfoinstion kernl-nell-nloadm: 0mber"
     "md{0me=\"ncclnel:nestnfcanfo ningnloanormnpacnstanumborm:ownlp: tper pes-portr ofrain"
     "rankrg srm: rnelrnins:  s: 0se/ist.jstalstedstemsystt.jatallted ted-temdtraits-ctypeucts"
     "uct\177umbeunpava: valuwnloypesyste{0} {0}:\17700\177\177str"},
    {9,
     "  0.  {0 (0. (at (ms (re (sl (tf - i - { 0 | 0): 0/0 0{0 <no an  arc aud bat cal che con"
     " dow dt= ela err fai fro get glo gpu gra hal ins lan lea lev lm  lr= max mem msg nam nan"
     " ncc occ ope par ple por ppl pre rat red req ret s0: sam sca ses siz ski ssh ste str tes"
     " the thr tim to  tok too tra use val war whe you zer {00 {0} {ra | c | e | p | t\" le"
     "\"000': 0(0.0(att(ms)(rea(slo(tfl) ..) wh): a): p++.e+.ex+00 ,000- in- {r-0+d-0.0-c++"
     "-con-dev-eu/-tok.00 .0gi.dow.mds.sto.zst/ 00//co/0):/000/cor/gpu/jdk/net/par/s/g/s=0/sec"
     "/sha/tes/tra/uti/v0/0 (00 - 0 <n0 co0 ke0 lo0 lr0 me0 pp0 ss0 sy0 to0 wa0 {00) .0, '0,00"
     "0-os0.0g0.ja0.md0/ 00/0)0/000/tr00 -00 c00 k00 m00 t00 w00 {00,000.m00/ 000/000`000s000{"
     "00`o00e+00{00:  0: 00: l0://0`o00e+00gib0{0}0} i0} n0} s:  0:  {: 0): an: ar: fa: ge: ja"
     ": la: p/: pl: pr: st: ti: to: {0://c:00,:all<li><non=\"00=====i00=inf`o0ia/laa/uta000"
     "acheackeactiad nad sad: age.aileain ain/al bale:alf-all allealliaminams an ean iang=ank "
     "apsearamarchard.arsease ase.atchate.ate:atedatteaudiavacax rb dtbal batcber.bjecc++.cale"
     "ccl ccurce ycessch sch=ichecchedckedcl iconnconscorpct octivct\1770curicurrd (ad (sd it"
     "d mad nod s0d sad tid tod.00d00.d000d: fd: td:00dev:dk/jds.zdt=0ducee gee lie pee ree yo"
     "e+00e.doe.ste/pae:  e=\"/e=\"0eacheamiearneaseect ectiecured (ed ied med ted\" ed00educ"
     "efixel=ielapelecem=0empten cenceens-ens/eof ep 0epocequeer ger ier.eeroserroersies: essi"
     "est est-et vetobetrieu/vev:aevele\177nuf naf skfailfffffiguflopfo -fo mfromg keg rag st"
     "g syg thg.bage.dget getoghpugib globgpu gpu)gradgureh sih0: h=i0halfhardhe gheckhed hen "
     "hputhroui000ib did:0ies:iguriledime ime=in/sing.int inteionsippeisteity/ize:jdk/jectk 00"
     "k/jaked kenskippl bal inl: {l=inlanglapsle: learleaslectled les:levelingll 0lledllinlm l"
     "lobalop/lowdlr=0ls/jlueom lom zem=00max mds.me pmed mem=mingmpt ms nms):msg=n   n (mn (r"
     "n can ern itn) wn/shnamenan nectnet/nfigng rng sng tng.bnk 0nnecnonens-ens/sns: nsumnum "
     "o - o doo mso0iboad oad:obalobjeoccuof \"of nof sokenols/on  on (one>onfionneons:onsu"
     "oolsop/soperor ooragorp-os: oss oss:oss=oughour owdoown)p 00p-top/s/p: aparaparsped pera"
     "perspid=pl=0pleaplespochppedppl=prefprinpsedpt 0pu (pu):put quesr gpr itr ocr rer.exr=0."
     "rad rageramsraterch=rd.0reacreamredurefirequretrrg kriesrintrityrom ror ros:rougrp-trred"
     "rrorrse\177rsiss has nos scs uns): s-c+s-eus.exs.jas.zss/gps/jas/s=s0:/s=0.s=00sampscal"
     "se rse.sse/psecused selesessse\177nsg=\"sharsionsistsizeskipslowss sss=0ssd\"ssiosssd"
     "st rstarstd stenstepstorstresumesun/t 0/t 00t opt pet rat vat:00t=0.tarttch td (te: temp"
     "tenctep tfloth0:the throtil/timetingto dtobjtoketooltoratreatriettemt\17700u (tu): u/v0"
     "uce uditueofuestughpum zumedur ruriturreus hus uuserut putilv0/tv:amva/nva/uvac/vel=warn"
     "wdowwhenwn) workx reyourze: zerozstd{ran| co| el| gl| gr| le| lm| lo| pa| th} it} nc} st"
     "}: s}: t\177num\177val"},
    {10,
     " - p ->  00/ 0:  0:0 : 0 acc app by  cha com dcg dea dev dis ecc ed0 ena for fs0 gid hos"
     " hre id= in  irq lau lus met nvi p0p pac pid pow pri pty pub res roo set sha sli slu suc"
     " tas tem tha thi uid uns up  via wit xid\" gp\" id\" na\" op\" pi\" pr\"/pr\"/tm\"/us"
     "\">ja\"all\"col\"ope\"shi\"sss(000(at +dfs,  0, tr- pe-0) -0+b-00,-000-00:-> 0-c.e-exp"
     "-fff-ins-lib-osc-ost-per-tld.../../0./00.0 -.0+d.00`.00i.deb.jtr.ser/0 :/a>:/cmd/cum/gdb"
     "/htt/ib//jtw/lan/lib/nio/pro/rea/s, /sbi/sss/tim/tmp/usr0 0:0 : 0 au0 dc0 ec0 fr0 gi0 ho"
     "0 in0 na0 nv0 of0 re0 sh0 sl0 te0 tr0 xi0\" l0+b00+df0,  0-0)0-0.0-de0-li0.0+0.de0/0 "
     "0/cm00  00 (00 <00 a00 d00 f00 g00 h00 i00 o00 x00\" 00):00+d00-l00.d00.j00/c000)000a"
     "000b000c000d000f000z00:a00:x00<000a000b000c000d000e000f000it00z\"0: {0:0.0:x00a000b00"
     "0c000d000e000f000ib 0ib)0it/0p/c0s.i0u0)0z\" 0} -0} a0} l0} {0~de0\177am: 0{: ac: ap: ch"
     ": co: de: ed: fs: in: pt: re: se: te:0.0:00\":00<:00}:x00</a><a h=\"/p=\"/t=\"/u=\"al"
     "=\"co=\"op=\"sh=\"ss=0 e=0 t=00 =: p=k0s> 0.> 00> 0{a hra p0a-pea/nea0:0a: ta</aa>: able"
     "acceace=ack ackaackiada0ad\177nage aineaintain\177aligalloal\177same=amesand ang/ange"
     "ank0anneappaarinarmoarteask at 0aticaultauncava<avaxb (ab ..b000be=0bin/bledblicbreac-ff"
     "c/00c000cachccepccescc\177dce 0ce mce: ce=kced{ceptcgm-ch 0ch tchanchesck .ckagcketckey"
     "ckinckpoclascmdlcollcommcompcontcroncs\" ctedctinctioctorct\177scudacumec\17700c\177db"
     "d pad pud sed sld sud\" id\" nd\" od: cda0:datadbe=dcgmde edeacdeb debudefader/devidfsg"
     "dia-dingdiscdistdit(dit:dlind\177erd\177noe ene moe\" pe': e.jae: de: fe=00e=k0e> 0eact"
     "eb .ebugecc\177eck eckpecteectoed bed=0ed{0ef=\"efauef\177vegerel 0em/remp=en\" enabent/"
     "eparepidepteer rer ser00er=0erd{eriaervier{0espaessfest/estoestsetesethoettieturevicevio"
     "expoey ff \"rf usf-cof-inf000f: cf=\"/faulff: fff:filefinifix=fo cfor formfs0-fsg-full"
     "f\177vag lig meg prg tog upg=\"cg=\"sge lged ger gid:gm-egpu=groug\177sth taha00hanghann"
     "hat hd{0him his hon0hosthrefhttpi>jaia pia-pib (ice ice:ickeics\"ic\1770idiaid\177eies."
     "ile=im dime/imitin tine\"inering:ingsinitin\177lion=iousiscoit(0it/sit: ivatix=:jtr\""
     "jtwojul k ..k stk/jtk0s.kagekey kingkpoil 0.l 00l00 l=00lasslaunle=\"led.lf-clf-ili>j"
     "lib/libclibglibplibxlicelicklignlimilinell lllecllowlly.localowelt0}lue lurmlustly u"
     "l\177stm 00m dim uim-exm/rem=\"smainmdlimem/mespmethmetrmm=\"mor=mp/jmp=0mpiln 00n re"
     "n\" pn/sen/ssn=\"onablnce ncednch ne\" ne> nel nerdng dng ing lng mng png unio/nnelnsel"
     "ntaintegnum=nvidn\177loo 00o cho unoc/0ocesoch ockeode of uofilointolleom 0om uomm=ompi"
     "on 0on ron=\"ontaoot.openoptior uor=\"orchoredork/ormaors=ort ort:orteosc-ost0ost:ousl"
     "owedowerp lip/cup/jdp0p/p: cp: pp=00pacepariparmpe=0pen\"pilepoinpowepparprepprevproc"
     "profptedptioptyppu=0publpythr ror usr\">jr.jar/sbr000r=\"ar=00rad\177rd{0re lre: read"
     "reakref=ref\177reparestreturevirialricsringrk/jrmatrmd{rmorroc/rocerofirootrorsrouprs=0"
     "rsysrt 0rt:0rtedrterrvicr{00r\177sts ins\" gs': s-c.s-tls.ios0-os=0 sbinsc-fsconsd\" "
     "se/cser ser0seriservset settsfulsg-0sh0:sha0shd{shimsk sslicslogslursly sockspacsr/sssfu"
     "ssh0sshdst fst00st:0strisuccsyslt frt(00t/s,t000t0}:t: ttaintasktatitcheted\"tegetepi"
     "ter{thatthisthodthontic\177tivatmp/to 0to utorctoretr\">tre:trictrinttinturntwort\177st"
     "u0) u=0 ubliucceuid:uid=uintullyult0um=0umemun/sunchunseup lure uredurmdurn us iuslyusr/"
     "ustrva/lva/tva</val\177vatevax/via vicevidiviouwed\"wer=withx00-x=: xid\177xpory 00y fo"
     "y unype ype=ysloythoz\" l{def| 00} ->} au} lu} vi}: a}: c}: d}: l~deb~~~~\1770.0\17700 "
     "\177amd\177arg\177dbe\177err\177los\177nor\177sta"},
    {11,
     "   |  fi  |  \"re \"rt #0: 'ep 'gr 'le ()\" (00 (0: (0x + 0 0 - 00% 0x0 act add aff ali"
     " all and bin bl0 bre can chr cle clo cmd col coo cpu cro cud cur dat det dir dnf dom exe"
     " fil fin hea int inv is  jdk job lin log mai mfd net not on  p/d pas pyt ran rec rsy run"
     " sec sho sit sma snm sou sun syn tex usi ver v\177n wor {ba | 0\" x-\", l\"ref\"rtn#0: "
     "%-(r'epo'gra'lea'los(0:0(0x0(ref(uid+ 0x, 'e, 'g, 'l, 00, in, li, va, v\177-(re-0 <-00+"
     "-00\177-0:a-0~d-0\177a-boo-cli-col-com-int-is--jav-log-nhc-opt-pac-set-td--td:-tf--tf:"
     "-tll. 00.. 0... .0 r.00%.00+.00/.00g.00}.0~d.cpp.go:.py:/   /ali/bat/bre/bug/cha/cla/com"
     "/con/cry/d c/dat/dis/fil/for/inv/io//lam/mod/opt/pri/pyt/ser/set/sit/ssl/str/sun/sys/t00"
     "/tok/tor/tot/xml0 ()0 (r0 af0 bl0 ch0 cl0 er0 gp0 on0\" x0%-(0, d0, i0, t0, v0-0 0-0:"
     "0-0~0-0\1770.0s0.0~0/  0/ib0/si00 b00 e00 r00%-00%|00) 00-o00.-00/s00/t00gb0:0/0<000=0."
     "0u0 0u000u0\1770x000x0f0}:00}:{0}ml0\1770:: al: au: bi: cm: ld: ma: me: nv: p : pa: po"
     ": ru: su: tr: us: {b:0/i:00+<00:=00,=0: =no:>suna/ioa/nia/sea/tia:  a: ca:alabasaddrader"
     "adinaemoaffiagesakpoal: alanalidalizalthal\177fambdame anceandlannoanupapr arg\177arp "
     "arraartiary asicat-catabate'atorava.ay 0b/pyb/shbackbalabandbasibda/binpbl00ble boolbug="
     "builbutec: 0c=00can cateccl.ce oce ucertce{0ch':ch=0charchrociphck rcks ck\177acl.cclea"
     "cliecloscmd=codecom/condcookcouncp: cpp:creacrypcs tct 0c{00d 0 d 00d byd chd cld ind sy"
     "d wid-lod.jad: gd: pd: rd: sd=0 daemdatedb.ade hdetediredomads.edulee #0e ..e coe hee of"
     "e ste use-nhe-pae.exe/ale/bre/ope/pre/see/tee/toeadieak-eakpealteam/eanueateec: ec=0ecks"
     "eck\177econed ced fed ged welinels/emalemd-emenemonempoen: enerent\177eoutep=0epdeepti"
     "er.jer/cer: erenericeriferruers.erseerteer\1770er\177ses.jes/tespeessges\177pet/het/i"
     "et/sete etecevenexceexecexitextfe{00f tef uif0=0ferefferffinforkframfreefuncg dag fog ss"
     "gdb-geneges/ggedgindgn-cgnedgo:0gpu0gs.eg\177rah 00h 0:h meh': h000h=00handharphc{0heal"
     "hes\177how hronialiib/pib/sibanibglibutib\177cicatics ics/id 0iderientign-igneil/cile "
     "ilerimeoiminimplin /in 0in lin/tin: ind{ine infiing/ing\177inibinisink=inseinvainvoio/c"
     "ion.ion/ipheirecirq irqbis cisheistritchite-itedith ity jun k rek000k0}:k=noken:knowks p"
     "k\177arl  0l lil.cpl/jal: 0l: nl: pl=0.lamblanclastld-tld: le \"le cle sleanler/lesplete"
     "libalibslid lienlinklizalloclogdlogglogilonglth lx0\177l\177f0m nom': m/sumallmartmat/"
     "may mbdamctlmd-lme #me 0me/tmemamentmeoumfd\177mitemlx0mmonmodumporn 0.n don lon thn ti"
     "n van-c+n-isn.jan/ton0.0n00 n: 0nce{ndlend{0ne 0ned\177nelsnemonerinfinng cng fng/sng: "
     "ngs ngs.ng\177rnhc{nibanishnitynk00nk0}nk=nnknonlimnnotno: not notanownns.ensignt cnt s"
     "nt tntimntinnup nvalnvoknyd{n{00n\177sto/cho: bo:00ocalocatoch'oct odulof toggeoginokie"
     "om/somaiommoomplon don.jon0-on0.ondsong\177ons ons.ons/onstonteonydon{0ook ookiopt/or m"
     "orarorieorm'oss'oss/ostnotalotatountoupnourcovidown-p ofp.exp/d p: lp: sp:00pathpclipdeb"
     "pe 0perfper\177pherpingpletpnccporapp:0ppinprelprovpt tput/putspy:0q 00qbalr  0r prr sl"
     "rameraryrce rch/rconreatrecerectrelirencrentresoressrg crg\177sriburm nrm':rmctrn vrony"
     "ror:rovirp {rq 0rqbarrayrrenrruprsecrtesrtinrtn\177runtruptry dryptr\17700r\177ses pa"
     "s tes ths, vs-tds-tfs/tes/tos/trs:amsa0 savese .se/ase/bse/dse/ose/ssec:sec=secosepdsgro"
     "shedshowsignsingsitesmarsnmpsourspecsperss':ss/tssgrssl/sstast-ost-sstesstnastr\177sts "
     "switsysss\177pet alt fot int tet tht tot-cot-opt-set.ext/bat/htt/ibtabatachtal:tat-tch="
     "tcp:td-ttd: td{0te':te-nte-ptectted=tep=terrter\177texttf-ttf: tfilth mthretimitivetld-"
     "tld:tnamtn\177stooktor.toritotatpcltribtr\177sts.jtstrttesttpcu0 <u0\177aue suid uild"
     "ul  ul 0ultiun 0un/nunitunknunliunsiuntiup oupncupt urceurm urmcusinut/butedutstva/iva/s"
     "va:avalived ventverividevokev\177nuwitcwn-ix0\1770xcepxml/xtfiy acy diy:00yd{0yptoysst"
     "{'lo{00.{00:{0}m{bat}: (}: i}: m}: p}: r}: {}:00}mlx\17700\"\17700)\177000\17700:\1770:0"
     "\177che\177eve\177f0=\177lon\177per\177rat\177sec\177ste\177uns"},
    {12,
     "  0: /de 0 p asy far fli no  p/u p/x s,  sav ser so  sti wri {se) cm): s****, de, no, re"
     ".cor.dis.py\"/0/g/dev/gdr/gen/log/tck/u 0/x 00 > 0 el0 pr0 s,0 {r0, e0, l0/gd00-d0} w"
     "0\1770.: (r: as: ca:meg>: ta neac/lain:ak-iardsasynath/atroave ax/xb/0/bid=buffbug0"
     "b\177coc sacannchdockercloucmd conccorectl0ctldd fod pyd-tldev/dockdrdmds wdtesd} ve \"/"
     "e the.diegaten, end}erveess etryev/nf itfligg ing-00g.jag/ing000g: ag:megatrgdrdght,gram"
     "hdoghrowht, ia nib/0ightile/ill in  in fintiinueissiist\177ittejobik00}ld{0les/lighll i"
     "loseloudmar md (megamissmultn  0n cln fln, rn.con: tnc snd} ng/ing:mno eo ero faobidof i"
     "on con.contioot)ore.ors osedot) oud-p/u p/x proppto/pu00py\",r mardmards re.drifyrite"
     "rittron.rs sryins sos wrs, nsendso fstilsts/st\177csuresynct) ct, 0t.jttchdte \"ten,ter "
     "tilltinutl00tld{tor/trontryittent\177chu000uffeug00ve owatcwritx/xmy\", y.jayingync zuin"
     "{sen} wa} {s"},
};
// clang-format on

}  // namespace nvab
