// SPDX-License-Identifier: Apache-2.0
// Runs of four bytes that ordinary logs are full of, with how common they are: measured over mixed
// logs of training runs, kernels, daemons and test suites, letters folded to lower case as the
// literal matcher folds them (so '[' reads '{' and '_' reads DEL), digits all as 0. A run that is
// missing only makes a literal look rarer than it is. For common/engine/rarity.cc.
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
     "0000"},
    {6,
     ".0000.0000.0000 00:00:00"},
    {7,
     " 0000-0000-0000.000}:00:{000"},
    {8,
     "     0.0 00: ent mod nod pro sta, st-00 -00-0 000 no0 | 00 000 n00 |000-000:00: 00} 0: e"
     "0}: : 00: en:00 ate cuoud prde, de00e 00e, se000ed penteeredeth0h00:ing iscumiscmodenode"
     "nterode,ode0omisous promred romis moscuostattatete 0tereth00tionuousus m"},
    {9,
     "   0  0   00 0 0 eth ite los of  vet.00.0.0 00 s000e00}:0} e0} v: 0.:00.:000=000amplatio"
     "d{00eratinfoion iterjavalossmplenov ov  passratiteratimev  0veth} et} ve"},
    {10,
     " 00. con gdb gpu inf ker nor num per rat sys tim to  use {00 | g | l | n): 0+00:-----00t"
     ".....0 |.0.0.bas.cl0.exa.exp.hpc.jav.org/0000 po0): 0+000.0.0.cl0.hp00 c00 k00 l00 p00 {"
     "00+000, 00.c00/0000+000,000/00e-00t00e-00t000{0}:   : gd: {0:00,:amd=0.0amd0arniase/ass:"
     "asseatchb.babasebatcber c.excallcesscl0.connd00 d=00db.bdownd{0}e-00e.ore: 0ectied sed t"
     "ed: el: emd{er oerneerroes: examexp:fromgdb.hpc.id=0ionskernl0.hle.olectm: 0mbermd00md{0"
     "me=\"ncclnel:nfo ningnnecnormnumbon (org orm:pc.eper ple.portprocr ofrainrankraterm: "
     "rnelrninrrors:  s: 0s: gsed sed:ss: ssedstemstepsystt 00t00:ted temdtesttingtraitypeumbe"
     "userxampxp: yste{0} {0}:| nu}: s"},
    {11,
     "  {0 (at (ms (tf ->  ... 0 | 00  00/ 0{0 : 0 aud bat cal cha com dev ela err fai for fro"
     " get glo gra in  lea lev lib lm  max mem met msg nam nan ncc ope par por req ret sam sca"
     " ses sha siz ski slu ssh ste str tem the thr too tra typ uid val via war zer {0} {ra | c"
     " | e | p | t\" le\"000': 0(000(ms)(tfl): a+00 ,000-> 0.0-0.00 / 00/0 :/gpu/jav/pro/s/g"
     "/sha/tra/usr0 - 0 0.0 : 0 co0 ke0 lo0 sl0 ss0 st0 sy0 to0 {00, '0,000-os0.0-0/ 00/0 0/00"
     "00 a00 g00 h00 m00 o00 t00 w00,000/ 000)000{00`o00e+00u000{000\17700:  0: 00:am0`o00e+0"
     "0} -0} i0} n0\17700:  0:  {: co: de: la: st: ti: ty=\"00=00.=====inf`o0ia000ableachead n"
     "aileain ain/al bale:all allealloams an iank anneapsearamarteate:atedatusaudiava/ava:b00u"
     "bal caleccl ceptch schancheccl icollcommconscontctedctiocurrd itd nod sad sed tid tod000"
     "d:00deb0devie pee+00e:  e=\"/e=\"0earneb00ect ecteed ied led\" el 0el=ielapenceequeer g"
     "er ierosersiessiest etrievelevicf naf skfailfffffileflopfo cfo mfor g rag syghpuglobgpu "
     "gpu)gradh sih0: hannhardhd{0heckhed hputhrouice id:0iledime ime=in/sing.ippeisteize:k 00"
     "kenskippl 00l bal inl: {l=inlapsle: learled les:levelinelleclm lloadlobalop/lurmm 00m lo"
     "m zem=00me pmed mingms nms):msg=n   n (mn 00n itnamenan nectnel ng rng sng tnk 0nloannel"
     "npacns: nstansumnum o cho mso0ibobalocesof nof sof uokenolleon  on 0onneons:onsuop/sopen"
     "operort os: oss oss:oss=oughownlp/s/packparaped peraperspid=plesppedpsedpu (pu):put ques"
     "r gpr itrad ramsreadreamrequretrrg sricsriesrocerom rootror ros:rougrsisrt 0rtedructs no"
     "s scs): s/gps=0.s=00sampscalser sesssg=\"sharshd{sionsistsizeskipslurss sss=0ssd\"sshd"
     "ssiosssdstarstenstorstrestrusumet pet:00tarttatutch te: temptenctflothe throtoketreatruc"
     "tus u (tu): udituestughpum zumedunpaurreusr/ut pvel=via vicewarnwnloworkze: zero{ran| co"
     "| el| gl| gr| le| lm| lo| pa| th} ->} it} nc} vi}: a}: t"},
    {12,
     "  0. (re (sl - i - p - { 0): 0/0 <no acc an  app by  che dcg dea dis dow dt= ecc ed0 ena"
     " fs0 gid hal hos id= ins irq is  jav lau lr= lus nvi occ p0p pid ple pow ppl pre pub ran"
     " red res roo run s0: suc tas tes tok unp whe wit xid you\" gp\" id\" na\" op\" pi\" pr"
     "\"/pr\"/us\"all\"col\"ope\"shi\"sss(at (att(rea(slo) ..) wh): p++.e+.ex+deb- in- pe- {r"
     "-0+d-c++-dev-eu/-exp-fff-nes-osc-ost-per-str-tok...-.0 -.00-.0gi.dow.mds.sto.zst//co/0):"
     "/cmd/cor/cum/inf/lib/s=0/sbi/sss/tes/v0/0 (00 <n0 au0 dc0 ec0 fr0 gi0 ho0 in0 lr0 me0 nv"
     "0 of0 pp0 re0 sh0 te0 tr0 wa0 xi0\" l0) .0+de0-0+0.0g0.md0/0)0/cm0/tr00  00 (00 -00 d"
     "00 f00 i00 r00 x00\" 00):00.m00/c000`000a000b000c000d000f000s000z00a000b000c000d000e0"
     "00f000z\"0: {0://0a000b000c000d000e000f000gib0ib 0ib)0p/c0s.i0z\" 0} a0} l0} s0} {: 0)"
     ": 0{: ac: an: ap: ed: fa: fs: in: ja: pl: pr: re: se: te: to://c:00\":00}<li><non=\"/p"
     "=\"/u=\"al=\"co=\"op=\"sh=\"ss=0 e=0 t=00 =k0s> 00> 0{>java p0a-pea0:0acceace=ackaacke"
     "actiad sad: ada0age.ainealf-all-allialueal\177same=amesaminan eand ank0appaard.armoarse"
     "ase ase.ask at 0ate.atteaultauncavacax rb (ab dtb000backbe=0bin/bjecbledblicbutec++.c-ff"
     "c/00c000cachcateccepccesccurcc\177dce 0ce mce yce=kced{cgm-ch 0ch tchedckagckedckeycmdl"
     "compconfcorpcs\" ct octinctivctorcts-ct\1770cumec\177dbd (ad (sd lid mad pud s0d sud\" i"
     "d\" nd\" od-std.00d: fd: jd: tda0:datadbe=dcgmde edefadia-dingdiscdistdit(dit:dlinds.z"
     "dt=0duced\177erd\177noe ene gee moe ree yoe\" pe.doe.ste/ine: de: fe=00e=k0eacheamiease"
     "ecc\177ectoed (ed bed med-sed00educed{0efauelecem=0emp=empten cen\" enabens-ens/ep 0epid"
     "epocepteer rer00er=0erd{ervier{0es-tespaessfest.esteestoetobettieu/vexpoey ff usf000f: c"
     "faulfcalff: fff:figufinifo -fs0-fullg keg meg stg thg tog.bag=\"cg=\"sge.dgetogib gid:"
     "gm-egpu=grougureh taha00halfhanghe ghen him hon0hostia pia-pib (ib dibutickeics\"id 0"
     "idiaid\177eies:igurile=im dime/in tine\"inerinfcing:initinstint inteion=iscoit(0it: ith "
     "ivatjdk/jectk stk0s.kageked key kpoil-nel=00langlaunle=\"leasled.lib/licelicklingll 0"
     "ll-nlledllinllowlocalowdlowelr=0ls/jlt0}lustl\177stm dim uim-exm=\"smainmax mdlimds.mem="
     "mespmetrmm=\"mor=mp=0mpt n (rn can ern ren\" pn) wn/shn/ssn=\"onablnce ncednch ne\" nerd"
     "nestnet/nfcanfigng ing mng.bnonens-ens/sntainvido - o 00o dooad oad:objeoc/0occuode ofil"
     "ointols/om 0om uomm=on ron=\"one>onfiontaoolsoot.or oor uor=\"oragorchoredorp-ors=ort:"
     "orteosc-ost0ost:our owdoowedowerown)p 00p-top/cup0p/p: tp=00paceparmparspe=0pen\"pes-"
     "pl=0pleapochpoinpowepparppl=prinprofpt 0ptedptiopu=0publpythr ocr rer ror usr/sbr000"
     "r=\"ar=0.r=00ragerch/rd.0rd{0re: reacrectredurestrg kriburingrintrmd{rmorroc/rofirors"
     "rouprp-trredrs=0rt:0rterrvicr{00s has ins uns\" gs-eus.exs.ios.zss/jas/s=s0-os0:/s=0 "
     "sbinsc-fsconsd\" se rse.sse/iseleser0servsettsfulsh0:sha0shimsingsk sslicslowspacsr/s"
     "ssfussh0st fst rst.jst00st:0stalstd stedstrisucct 0/t frt opt rat(00t.jat000t0}:t: tt=0."
     "taintalltasktatitd (ted\"ted-tep tepiter{textth0:thisthontivato 0to dtobjtooltoratorc"
     "toretre:tribtrictriets-cttemttint\17700u/v0u=0 ubliucceuce uctsuct\177uid:uid=ullyult0"
     "umemunchur rurmdus hus uustrutilv0/tva: vac/valuval\177vatevidiwdowwed\"wer=whenwithwn) "
     "x rexid\177xpory foyourype=ypesythoz\" lzstd{def} au} lu} st}: c}: d}: l~~~~\17700\177"
     "\177dbe\177err\177los\177num\177str"},
    {13,
     "  |  'ep 'le (0. (00 00% 0:  0:0 0x0 act all arc can clo cmd col cur dat det fil hre int"
     " lan lin mai net not on  pac pri rec set sli tha thi uns up  usi v\177n wor | 0\"/tm"
     "\">ja'epo'lea'los(0.0,  0, 'e, 'g, 'l, 00, tr, v\177-0.0-00,-000-c.e-con-ins-pac.../.0 r"
     ".00/.00`.00g.00i.00}.cpp.deb.jtr.py:.ser/a>:/dis/ib//jdk/jtw/lan/net/opt/par/pyt/rea/s, "
     "/sec/tmp/tor/uti0 ch0 gp0 na0 pr0,  0.0+0.ja00 e00%|00) 00.j00<000it0: l0it/0x000}:{: ar"
     ": ch: ge: p/: pa: tr: us:0.0:00<:all</a><a h=\"/t=: p=i00a hra/laa/nea/uta</aa>: ack "
     "ackiaddrad\177nage agesain\177al: alidame anceang/ang=angeannoarcharinate'aticava<b .."
     "b/pyber.ble breac00dc=00ce uce: ch':ch=0ch=icheschrock .cketckinckpoclascliecloscondcore"
     "councpp:croncudacurid 00d byd ind pad sld wid00.d: cd=0 deacdeb dev:dk/je coe lie ofe st"
     "e use': e.jae/paeacteb .ec=0eck eckpeconecured ced fed wed=0ef=\"efixef\177vegerem/rent "
     "eof eoutep=0epareptier ser.eer: es/tess essgest-estset vet/ieturev:aevenexceexecexite{00"
     "e\177nuf \"rf-cof-inf=\"/fix=formframf\177vag fog ing prg ssg upged ges/get g\177rah 00"
     "h': h000h=i0hes\177his hrefhronhttpi000i>jaib/pib/sice:iderienties.ightile imeoin 0in l"
     "ing\177in\177liousistrit/site-ity ity/ix=:jtr\"jtwojul jun k ..k/jak/jtk000kingknowl 0."
     "l00 l: plassleanletelf-clf-ili>jlibclienlinklloclly.logdlonglueolx0\177ly um/remay mctl"
     "me/tmem/meoumfd\177mlx0mp/jn thn tin0.0nd{0ng cng dng fng png ung: ng\177rnk00nk0}nkno"
     "nnotnot nownnt cntegntinnum=n\177loo unocalocatoch och'ockeof \"oggeomplon0.ondsons onte"
     "optior mork/oss'oss/otalountoupnourcp/jdp: ap: pp:00paripingpletpnccpp:0ppinprefprepprev"
     "put/py:0r  0r\">jr.exrad\177ramerch=reakreceref=refiref\177rentrepareturevirityrk/jrmct"
     "rrenrruprse\177rsiorsysrupts': s, vs-c+s.jas/tose/psec=secosecusendset se\177nsgroshed"
     "signsiteslogsocksoursr/lss':ssgrsun/syslt cot tot vat/s,tchete':tegetep=ter tic\177til/"
     "tmp/to utor.totatr\">trinturntworueofuid uintum=0unknuntiupncurceure ureduriturmcus i"
     "usinutedv:amva/lva/nva/uva</valived ventversviouv\177nux0\1770x=: xcepy 00y uny:00yslo"
     "{'lo{00:| 00\17700 \177000\177nor\177rat\177sec\177sta\177ste\177val"},
};
// clang-format on

}  // namespace nvab
